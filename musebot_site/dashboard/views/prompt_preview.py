"""The prompt as a turn would send it, without asking a model."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from memory import chat, selectors
from memory.llm.tokens import count_tokens
from memory.types import ChannelInfo, GuildInfo, Person, TurnRequest
from musebot_site.dashboard.core_memory_forms import PreviewForm
from musebot_site.dashboard.http import Request, only_server, page, scope
from musebot_site.dashboard.turns import OPERATOR

EXAMPLE = "What do you know about me?"


@require_safe
def index(request: Request) -> HttpResponse:
    chosen = scope(request)
    form = PreviewForm(request.GET, guild_id=chosen, only=only_server(request))
    if form.only is not None and form.channels and not request.GET.get("channel"):
        values = request.GET.copy()
        values["channel"] = str(form.channels[0].discord_id)
        form = PreviewForm(values, guild_id=chosen, only=form.only)
    context = {"form": form, "members": selectors.member_suggestions(chosen)}
    if form.is_valid():
        prompt = chat.preview(_request(form, chosen))
        texts = [
            (message.role, message.content, count_tokens(message.content)) for message in prompt.messages
        ]
        context |= {
            "texts": texts,
            "tokens": sum(tokens for _, _, tokens in texts),
            "cut": {name.replace("_", " "): count for name, count in prompt.cut.items() if count},
        }
    return page(request, "core_memory/preview.html", context, status=422 if form.errors else 200)


def _request(form: PreviewForm, guild_id: int | None) -> TurnRequest:
    member = form.cleaned_data["member"]
    asker = Person(member.user_id, member.username, member.display_name) if member else OPERATOR
    channel_id = form.cleaned_data["channel"]
    channel = next((row for row in form.channels if str(row.discord_id) == channel_id), None)
    question = form.cleaned_data["question"] or EXAMPLE
    if channel is None or guild_id is None:
        # No conversation of anybody's: the id 0 is nobody's channel.
        private = GuildInfo(0, kind="dm")
        return TurnRequest(question, asker, private, ChannelInfo(0, kind="dm"), is_group=False)
    return TurnRequest(
        question,
        asker,
        GuildInfo(channel.guild.discord_id, channel.guild.name),
        ChannelInfo(channel.discord_id, channel.name, channel.kind, channel.topic),
    )
