"""Why the bot said what it said: a trace in words, for a page and for Discord alike. It is read with the words of today."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memory.chat.cited import passages_of
from memory.models import BlockRevision, Channel, Guild, Message, Reply, ReplyBlock, ReplyFact, ReplyMemory
from memory.rag.retriever import DocumentRetriever

CLOSE = 0.35
"""A cosine from which on a memory is called close in meaning."""

LEFT_OUT = {
    "score": "not close enough to the question",
    "top_k": "enough others were closer",
    "budget": "there was no room left in the prompt",
    "duplicate": "another passage says the same",
}
DEGRADED = {
    "no_vectors": "Found by words alone: the question was not compared by meaning.",
    "timeout": "Searching the memory took too long and was given up.",
    "error": "Searching the memory failed.",
    "same_channel_only": "Only this channel's memories were used: who can read the others was not known at that time.",
    "no_channel": "It was not known who would read the answer, so no memory was used.",
    "memory_disabled": "Long-term memory is switched off.",
}
NOT_SEARCHED = frozenset({"timeout", "error", "no_channel", "memory_disabled"})
NOTHING = "beside what had just been said there, nothing that is remembered has to do with the question"


@dataclass(frozen=True, slots=True)
class Leaning:
    """A memory that a turn considered, and why."""

    key: int
    text: str
    author_id: int
    author_name: str
    channel_id: int
    channel_name: str
    sent_at: datetime
    jump: str
    """Where it stands on Discord; empty for what was never there."""
    score: float
    scores: Mapping[str, float]
    strength: str
    """``strong``, ``fair`` or ``weak``, beside the best of this answer; empty where the score says nothing."""
    reasons: tuple[str, ...]
    injected: bool
    why_left_out: str
    owner_id: int
    paused: bool = False
    rank: int = 0


@dataclass(frozen=True, slots=True)
class KnownFact:
    id: int
    text: str
    state: str


@dataclass(frozen=True, slots=True)
class UsedBlock:
    """A block of core memory as it was in the prompt."""

    id: int
    label: str
    private: bool
    version: int
    now: int
    """Its version today."""
    value: str
    """Its text then; empty where that version is not kept any more."""

    @property
    def changed(self) -> bool:
        return self.now != self.version


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a document that a turn considered."""

    n: int
    text: str
    citation: str
    document_id: str
    id: str
    cited: bool
    score: float
    scores: Mapping[str, float]
    strength: str
    why_left_out: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """One reply and what it leaned on."""

    reply: Reply
    question: Message | None
    answer: Message | None
    """As far as they are stored, and nobody who had a part in them is being erased."""
    place: str
    """The channel's name; empty where it is not known."""
    question_jump: str
    answer_jump: str
    used: tuple[Leaning, ...] = ()
    left_out: tuple[Leaning, ...] = ()
    facts: tuple[KnownFact, ...] = ()
    blocks: tuple[UsedBlock, ...] = ()
    passages: tuple[Passage, ...] = ()
    passages_left_out: tuple[Passage, ...] = ()
    notes: tuple[str, ...] = ()
    """What was missing when it was answered, as sentences."""
    counts_left_out: Mapping[str, int] = field(default_factory=dict)
    """How many were left out, by the reason in words."""

    @property
    def leaned(self) -> bool:
        return bool(self.used or self.facts or self.blocks or self.passages)

    @property
    def why_no_memory(self) -> str:
        """A sentence where no memory was used; empty where one was."""
        if self.used:
            return ""
        if self.reply.state == Reply.State.PENDING and not self.reply.kind:
            return "The answer is still being written."
        if set(self.reply.degraded.split(",")) & NOT_SEARCHED:
            return f"No memory was used. {' '.join(self.notes)}"
        if self.reply.guild is None:
            return "No memory was used: it was not asked on a server."
        found = "nothing that was found was close enough, or it did not fit" if self.left_out else NOTHING
        return " ".join((f"No memory was used: {found}.", *self.notes))


def explain(trace_id: uuid.UUID) -> Explanation | None:
    """What a reply leaned on; None where there is no such reply."""
    related = ("guild", "question__member", "answer__member")
    reply = Reply.objects.select_related(*related).filter(id=trace_id).first()
    if reply is None:
        return None
    uses = _uses(reply)
    best = max((use.score for use in uses if use.injected), default=0.0)
    leanings = [_leaning(use, best) for use in uses]
    passages = [_passage(entry) for entry in passages_of(reply)]
    left_out = [one for one in leanings if not one.injected]
    passages_left_out = tuple(one for one in passages if one.why_left_out)
    words = [one.why_left_out for one in left_out] + [one.why_left_out for one in passages_left_out]
    return Explanation(
        reply=reply,
        question=_kept(reply.question),
        answer=None if _leans_on_the_erased(reply) else _kept(reply.answer),
        place=_place(reply),
        question_jump=jump(reply.guild, reply.channel_id, reply.trigger_id),
        answer_jump=jump(reply.guild, reply.channel_id, reply.answer.discord_id if reply.answer else None),
        used=tuple(one for one in leanings if one.injected),
        left_out=tuple(left_out),
        facts=_facts(reply),
        blocks=_blocks(reply),
        passages=tuple(one for one in passages if not one.why_left_out),
        passages_left_out=passages_left_out,
        notes=_notes(reply.degraded),
        counts_left_out=dict(Counter(word for word in words if word)),
    )


def find_reply(message_ids: Collection[int], question_id: int | None = None) -> uuid.UUID | None:
    """The trace of the reply that these messages on Discord are part of, or that answers a question; None if there is none.

    Only the first part of a long reply is stored; callers give the ids of all parts that they know.
    """
    rows = Reply.objects.filter(answer__discord_id__in=list(message_ids), origin="discord")
    found = rows.values_list("id", flat=True).first()
    if found is None and question_id is not None:
        found = Reply.objects.filter(trigger_id=question_id).values_list("id", flat=True).first()
    return found


def jump(guild: Guild | None, channel_id: int | None, message_id: int | None) -> str:
    """Where a message stands on Discord; empty for what was never there."""
    if guild is None or not channel_id or not message_id:
        return ""
    if guild.is_sample or guild.kind == Guild.Kind.SANDBOX:
        return ""
    server = "@me" if guild.kind == Guild.Kind.DM else str(guild.discord_id)
    return f"https://discord.com/channels/{server}/{channel_id}/{message_id}"


def _kept(row: Message | None) -> Message | None:
    return row if row is not None and row.member.withdrawn_at is None else None


def _leans_on_the_erased(reply: Reply) -> bool:
    """Whether the answer is about to go with somebody whose words it may repeat."""
    used = ReplyMemory.objects.filter(reply=reply, injected=True)
    return used.exclude(message__member__withdrawn_at=None).exists()


def _uses(reply: Reply) -> list[ReplyMemory]:
    uses = ReplyMemory.objects.filter(reply=reply, message__member__withdrawn_at=None)
    return list(uses.select_related("message__channel", "message__guild").order_by("rank", "id"))


def _leaning(use: ReplyMemory, best: float) -> Leaning:
    row: Message = use.message
    searched, spoke = "searched" in use.scores, reasons(use.scores)
    return Leaning(
        key=row.key,
        text=f"{row.text} [image: {row.captions}]".strip() if row.captions else row.text,
        author_id=row.author_id,
        author_name=row.author_name,
        channel_id=row.channel_id,
        channel_name=str(row.channel),
        sent_at=row.sent_at,
        jump=jump(row.guild, row.channel_id, row.discord_id),
        score=use.score,
        scores=use.scores,
        strength="" if searched or best <= 0 else _strength(use.score / best, spoke),
        reasons=spoke,
        injected=use.injected,
        why_left_out="" if use.injected else LEFT_OUT.get(use.why_excluded, "it was not used"),
        owner_id=row.member_id,
        paused=row.paused,
        rank=use.rank,
    )


def _strength(share: float, spoke: tuple[str, ...]) -> str:
    """Beside the best of this answer; the best of what nothing speaks for is weak all the same."""
    if not spoke:
        return "weak"
    return "strong" if share >= 0.8 else "fair" if share >= 0.5 else "weak"


def reasons(scores: Mapping[str, Any]) -> tuple[str, ...]:
    """What spoke for a memory, in words, from the parts of its score."""

    def has(*names: str) -> bool:
        return any(isinstance(scores.get(name), int | float) and scores[name] > 0 for name in names)

    # Words that nearly every message has give it so little that nothing is left once it is rounded.
    by_words = has("bm25") or (scores.get("bm25") == 0 and scores.get("cosine") == 0)
    found = (
        (has("searched"), "the model searched for it"),
        (by_words, "shares words with the question"),
        (isinstance(scores.get("cosine"), int | float) and scores["cosine"] >= CLOSE, "close in meaning"),
        (has("first_named", "named"), "its author is named in the question"),
        (has("exact_date", "near_date", "month"), "from the time that is asked about"),
        (has("answers"), "follows a question like this one"),
        (has("one_away", "two_away"), "said right beside another find"),
    )
    return tuple(words for holds, words in found if holds)


def _facts(reply: Reply) -> tuple[KnownFact, ...]:
    uses = ReplyFact.objects.filter(reply=reply, fact__member__withdrawn_at=None).exclude(fact__text="")
    rows = uses.select_related("fact").order_by("fact__created_at", "fact_id")
    return tuple(KnownFact(use.fact_id, use.fact.text, use.fact.state) for use in rows)


def _blocks(reply: Reply) -> tuple[UsedBlock, ...]:
    uses = list(
        ReplyBlock.objects.filter(reply=reply)
        .exclude(block__member__withdrawn_at__isnull=False)
        .select_related("block")
        .order_by("id")
    )
    revisions = BlockRevision.objects.filter(block_id__in=[use.block_id for use in uses])
    kept = {(row.block_id, row.version): row.value for row in revisions.only("block_id", "version", "value")}
    return tuple(
        UsedBlock(
            id=use.block_id,
            label=use.block.label,
            private=use.block.private,
            version=use.version,
            now=use.block.version,
            value=kept.get((use.block_id, use.version), ""),
        )
        for use in uses
    )


def _passage(entry: Mapping[str, Any]) -> Passage:
    score = float(entry["score"])
    why = "" if entry["injected"] else LEFT_OUT.get(str(entry["why_excluded"]), "it was not used")
    return Passage(
        n=int(entry["n"]),
        text=str(entry["text"]),
        citation=str(entry["citation"]),
        document_id=str(entry["document_id"]),
        id=str(entry["id"]),
        cited=bool(entry["cited"]),
        score=score,
        scores=entry["scores"],
        strength="likely answers" if score >= DocumentRetriever.recommended_min_score() else "may help",
        why_left_out=why,
    )


def _notes(degraded: str) -> tuple[str, ...]:
    codes = [code for code in degraded.split(",") if code]
    return tuple(DEGRADED.get(code, f"The search was not complete ({code}).") for code in codes)


def _place(reply: Reply) -> str:
    channel = Channel.objects.filter(discord_id=reply.channel_id).first() if reply.channel_id else None
    return str(channel) if channel else ""
