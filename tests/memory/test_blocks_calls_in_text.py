"""Tool calls that a model writes as text: found leniently, and prose is never taken for one."""

from __future__ import annotations

import pytest

from memory.chat.tools import CallFilter, may_become_call, parse

NAMES = {"core_memory_append", "archival_memory_insert", "rethink"}
ARGUMENTS = {"block": "human", "content": "likes tea"}
BODY = '{"name": "core_memory_append", "arguments": {"block": "human", "content": "likes tea"}}'


@pytest.mark.parametrize(
    "text",
    [
        BODY,
        f"  \n{BODY}\n",
        f"```json\n{BODY}\n```",
        f"```\n{BODY}```",
        f"<tool_call>\n{BODY}\n</tool_call>",
        f"[TOOL_CALLS] [{BODY}]",
        f"<|python_tag|>{BODY}",
        f"[{BODY}]",
        BODY.replace('"arguments"', '"parameters"'),
        '{"function": "core_memory_append", "args": {"block": "human", "content": "likes tea"}}',
        '{"type": "function", "function": ' + BODY + "}",
        '{"tool_calls": [{"id": "1", "function": ' + BODY + "}]}",
        '{"tool": "core_memory_append", "tool_input": {"block": "human", "content": "likes tea"}}',
        '{"name": "core_memory_append", "arguments": "{\\"block\\": \\"human\\", \\"content\\": \\"likes tea\\"}"}',
        '{"name": "core_memory_append", "block": "human", "content": "likes tea"}',
        '{"core_memory_append": {"block": "human", "content": "likes tea"}}',
        "{'name': 'core_memory_append', 'arguments': {'block': 'human', 'content': 'likes tea'}}",
        '{"name": "core_memory_append", "arguments": {"block": "human", "content": "likes tea",},}',
        f"{BODY}\nI have noted that.",
    ],
)
def test_a_call_is_found(text):
    (call,) = parse(text, NAMES).calls
    assert (call.name, dict(call.arguments), call.malformed) == ("core_memory_append", ARGUMENTS, False)
    assert may_become_call(text.lstrip())


def test_several_calls_are_found():
    second = '{"name": "archival_memory_insert", "arguments": {"content": "x"}}'
    for text in (
        f"{BODY}\n{second}",
        f"[{BODY}, {second}]",
        f"<tool_call>{BODY}</tool_call><tool_call>{second}</tool_call>",
    ):
        assert [call.name for call in parse(text, NAMES).calls] == [
            "core_memory_append",
            "archival_memory_insert",
        ]


@pytest.mark.parametrize(
    "text",
    [
        "I will note that you like tea.",
        f"Write {BODY} to note it.",
        '{"name": "somebody_else", "arguments": {}}',
        '{"name": "Ada", "age": 36}',
        '{"answer": 42}',
        "[1, 2, 3]",
        "```python\nprint('hi')\n```",
        "{}",
        "",
        "<b>bold</b>",
        "{{{{{{{{",
    ],
)
def test_anything_else_is_text(text):
    parsed = parse(text, NAMES)
    assert parsed.calls == () and not parsed.broken
    one_by_one = CallFilter(NAMES)
    shown = "".join(one_by_one.feed(char) for char in text)
    assert shown + one_by_one.finish()[0] == text


@pytest.mark.parametrize("text", [BODY[:60], BODY[:-1], "```json\n" + BODY[:50], BODY.replace(":", "", 1)])
def test_a_broken_call_is_neither_shown_nor_carried_out(text):
    one = CallFilter(NAMES)
    assert one.feed(text) == ""
    rest, parsed = one.finish()
    assert rest == "" and parsed.broken and not parsed.calls


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("Hello", False),
        ('{"na', True),
        ('{"name"', True),
        ('{"colour"', False),
        ("{ ", True),
        ("```", True),
        ("```py", True),
        ("```python\n", False),
        ("```json\n[", True),
        ("<tool", True),
        ("<b>", False),
        ("[{", True),
        ("[1", False),
    ],
)
def test_only_what_may_be_a_call_is_held_back(text, held):
    assert may_become_call(text) is held


def test_without_tools_nothing_is_held_back():
    assert CallFilter(()).feed(BODY) == BODY


def test_arguments_that_are_no_object_are_malformed():
    (call,) = parse('{"name": "rethink", "arguments": [1, 2]}', NAMES).calls
    assert call.malformed and call.arguments == {}
