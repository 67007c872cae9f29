"""A new session, and a look at the prompt without asking anybody."""

from __future__ import annotations

from django.utils import timezone

from memory import blocks, consent, facts
from memory.chat.budget import Budget
from memory.chat.context import Context, clear_context
from memory.chat.core import gather
from memory.chat.known import facts_section
from memory.chat.prompt import Prompt, compose, draft
from memory.conf import get_config
from memory.llm.tokens import count_tokens
from memory.types import Recall, TurnRequest


def new_session(channel_id: int) -> None:
    """``/new``: the working context and the rolling context are empty from now on, whatever fails after that.

    Persona, human, archive and the conversation stay; what is worth keeping of the session is worked out in the background.
    """
    try:
        blocks.end_session(channel_id)
    finally:
        clear_context(channel_id)


def preview(request: TurnRequest) -> Prompt:
    """The prompt of a turn as a model with tools would get it, without recalled memories and conversation."""
    asker = consent.find(request.asker.id)
    known = facts_section(facts.facts_for_turn(request, asker))
    found = gather(request, asker, takes_tools=True)
    config = get_config().chat
    budget = Budget.for_window(
        count_tokens, window=config.context_window, max_reply_tokens=config.max_reply_tokens
    )
    parts = draft(request, timezone.now(), [*found.sections, *([known] if known else [])])
    return compose(parts, Context(), Recall(), budget)
