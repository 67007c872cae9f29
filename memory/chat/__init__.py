"""Turns of conversation: rolling context, recall, prompt, the model's answer, and the trace of it all."""

from memory.chat.context import clear_context
from memory.chat.reading import trace
from memory.chat.sessions import new_session, preview
from memory.chat.traces import Unfinished, begin, finish, unfinished
from memory.chat.turn import answer, run_turn

__all__ = [
    "Unfinished",
    "answer",
    "begin",
    "clear_context",
    "finish",
    "new_session",
    "preview",
    "run_turn",
    "trace",
    "unfinished",
]
