"""One turn without Discord, with its trace."""

from __future__ import annotations

import contextlib
import json
import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from memory import backends, chat
from memory.conf import get_config
from memory.errors import MusebotError
from memory.management import arguments
from memory.management.base import MemoryCommand
from memory.management.printing import memory_json, memory_lines, milliseconds
from memory.models import Guild
from memory.types import ChannelInfo, GuildInfo, TurnDelta, TurnRequest, TurnResult


class Command(MemoryCommand):
    help = "Asks the bot one question and shows what it recalled for the answer. Nothing of it is remembered."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("question")
        parser.add_argument("--user", type=arguments.user_id, metavar="ID", help="Who asks.")
        parser.add_argument(
            "--guild", type=arguments.guild_id, metavar="ID", help="Server whose memories are used."
        )
        parser.add_argument(
            "--channel", metavar="ID", help="Channel of the answer: only what its readers may see is used."
        )
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["question"].strip():
            raise CommandError("Write a question.")
        try:
            guild, channel = self._scope(options["guild"], options["channel"])
        except MusebotError as error:
            raise CommandError(error.message) from error
        request = TurnRequest(
            question=options["question"],
            asker=arguments.find_person(options["user"]),
            guild=guild,
            channel=channel,
            operator=True,
            origin="command",
        )
        if guild is not None and get_config().memory_enabled:
            # Loading a model may take longer than a reply waits for vectors; without one, words serve.
            with contextlib.suppress(MusebotError):
                backends.embedder().embed_query(request.question)
        result = self._run(request, stream=not options["json"])
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(result), ensure_ascii=False, indent=2))
        else:
            self._show_trace(result)
        if result.kind == "error":
            sys.exit(1)

    def _scope(
        self, guild_id: int | None, channel: str | None
    ) -> tuple[GuildInfo | None, ChannelInfo | None]:
        """The server that is named, or the only one there is, or that of the channel."""
        if guild_id is not None:
            guild = arguments.find_guild(guild_id)
        else:
            known = list(Guild.objects.order_by("ordinal")[:2])
            if channel and len(known) != 1:
                known = [arguments.guild_of_channel(channel)]
            if len(known) != 1:
                self.stderr.write("No memories are used: name the server with --guild ID.")
                return None, None
            guild = known[0]
        found = arguments.find_channel(guild, channel) if channel else None
        return arguments.guild_info(guild), arguments.channel_info(found) if found else None

    def _run(self, request: TurnRequest, *, stream: bool) -> TurnResult:
        streamed = False
        for event in chat.run_turn(request):
            if isinstance(event, TurnResult):
                if stream:
                    self.stdout.write("" if streamed else event.text)
                return event
            if stream and isinstance(event, TurnDelta):
                self.stdout.write(event.text, ending="")
                self.stdout.flush()
                streamed = True
        raise AssertionError("a turn ends with its result")

    def _show_trace(self, result: TurnResult) -> None:
        out = self.stdout.write
        out("")
        how = {
            "model": f"by {result.model}",
            "extractive": "without a model",
            "error": f"failed: {result.error}",
        }
        out(f"Trace {result.trace_id}, {how[result.kind]}, {milliseconds(result.timings)}")
        if result.citations:
            out(f"Passages of documents ({len(result.citations)}):")
            for one in result.citations:
                out(f"  [{one.n}] {one.score:.3f}  {one.citation}{' (cited)' if one.cited else ''}")
        recall = result.recall
        if recall.degraded:
            out(f"Recall was not complete: {recall.degraded}")
        out(f"Recalled ({len(recall.memories)}):" if recall.memories else "Nothing was recalled.")
        for line in memory_lines(recall.memories):
            out(line)
        if recall.left_out:
            out(f"Left out ({len(recall.left_out)}), the first ten:")
            for line in memory_lines(recall.left_out[:10]):
                out(line)


def _as_json(result: TurnResult) -> dict[str, Any]:
    return {
        "text": result.text,
        "answer": result.answer,
        "kind": result.kind,
        "model": result.model,
        "error": result.error,
        "citations": [asdict(one) for one in result.citations],
        "passages_left_out": [asdict(one) for one in result.passages_left_out],
        "facts": list(result.facts),
        "memories": [memory_json(memory) for memory in result.recall.memories],
        "left_out": [memory_json(memory) for memory in result.recall.left_out],
        "degraded": result.recall.degraded,
        "prompt": [dict(message) for message in result.prompt],
        "timings": dict(result.timings),
        "cut": dict(result.cut),
        "trace_id": result.trace_id,
    }
