"""The tokens by which models' chat templates tell turns, tools and thoughts apart. As text of a message they must not exist.

Servers put a message's text into the template and read the whole again: ``<|im_start|>system`` in it would begin a turn of the
operator's. No honest prompt needs one, so they are taken apart in every message, whoever wrote it.
"""

from __future__ import annotations

import re

_ROLES = "start_of_turn|end_of_turn|start_header_id|end_header_id|begin_of_text|end_of_text|eot_id|bos|eos|pad|unk|s|sep"
_PARTS = "tool_calls?|tool_responses?|tool_results?|tools|function_calls?|function_results?|think|thinking|reasoning"
_MARKERS = re.compile(
    r"<(?=\|[^|<>\n]{1,60}\|>)"  # <|im_start|>, <|eot_id|>, <|START_OF_TURN_TOKEN|>
    r"|<(?=｜[^｜<>\n]{1,60}｜>)"  # <｜User｜>
    rf"|<(?=/?(?:{_ROLES}|{_PARTS})\s*>)"
    r"|<(?=</?SYS>>)|<(?=/?SYS>>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|THINK|IMG|PREFIX|SUFFIX|MIDDLE)\])",
    re.IGNORECASE,
)
_APART = {"<": "‹", "[": "⟦"}


def without_markers(text: str) -> str:
    """The text with the first character of every marker replaced by one that only looks like it; its length stays."""
    return _MARKERS.sub(lambda found: _APART[found[0]], text)
