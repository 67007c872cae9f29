"""Long answers are split into messages that Discord takes, and code blocks stay code blocks."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from botrunner.splitting import LIMIT, split

FENCE = re.compile(r"`{3,}")

lines = st.one_of(
    st.text(max_size=120),
    st.sampled_from(
        ["```", "```python", "```c++", "    indented = 1", "", "- item", "`inline`", "word " * 30, "x" * 300]
    ),
)
texts = st.lists(lines, max_size=60).map("\n".join)


def bare(text: str) -> str:
    """The text without white space and without what marks code: what has to survive any splitting."""
    return re.sub(r"\s+", "", re.sub(r"`{3,}([A-Za-z0-9_+\-.#]{1,30}(?=\n))?", "", text + "\n"))


@given(texts, st.integers(80, 400))
@settings(max_examples=300, deadline=None)
def test_every_part_fits_is_not_blank_and_has_balanced_fences(text: str, limit: int) -> None:
    for part in split(text, limit):
        assert len(part) <= limit
        assert part.strip()
        assert len(FENCE.findall(part)) % 2 == 0


@given(
    st.lists(
        st.sampled_from(
            ["alpha", "beta gamma", "```", "```python", "    x = 1", "", "delta " * 20, "y" * 150]
        )
    ),
    st.integers(80, 300),
)
@settings(max_examples=300, deadline=None)
def test_no_word_is_lost(words: list[str], limit: int) -> None:
    text = "\n".join(words)
    assert "".join(map(bare, split(text, limit))) == bare(text)


@given(st.text(alphabet=st.characters(exclude_characters="`"), max_size=3000), st.integers(80, 500))
@settings(max_examples=200, deadline=None)
def test_plain_text_is_kept_to_the_letter(text: str, limit: int) -> None:
    assert "".join("".join(split(text, limit)).split()) == "".join(text.split())


def test_a_short_text_is_one_part() -> None:
    assert split("hello") == ["hello"]
    assert split("  \n ") == []


def test_a_block_that_is_cut_is_closed_and_opened_again_in_its_language() -> None:
    code = "\n".join(f"    line_{number} = {number}" for number in range(200))
    parts = split(f"Here it is:\n\n```python\n{code}\n```\nThat is all.")
    assert len(parts) > 1
    assert parts[0].startswith("Here it is:") and parts[0].endswith("\n```")
    assert all(part.startswith("```python\n    line_") for part in parts[1:])
    assert parts[-1].endswith("```\nThat is all.")
    body = "\n".join(re.sub(r"^```python\n|\n?```$", "", part) for part in parts)
    assert all(f"    line_{number} = {number}" in body for number in range(200))


def test_cuts_fall_between_paragraphs_lines_or_words() -> None:
    text = "\n\n".join(["word " * 60] * 10)
    assert all(part == ("word " * 60).strip() or part.endswith("word") for part in split(text, LIMIT))
    assert set(split("ab " * 60, 100)[0].split()) == {"ab"}


def test_a_block_never_starts_at_the_end_of_a_part() -> None:
    text = "x" * 70 + "\n```python\n" + "y = 1\n" * 30 + "```"
    first, second, *_ = split(text, 88)
    assert "```" not in first and second.startswith("```python\ny = 1")


def test_earlier_parts_do_not_change_while_the_text_grows() -> None:
    text = "\n".join(f"Sentence number {number} of a long answer." for number in range(150))
    final = split(text)
    for end in range(2100, len(text), 97):
        so_far = split(text[:end])
        assert so_far[:-1] == final[: len(so_far) - 1]


def test_a_limit_that_leaves_no_room_is_refused() -> None:
    with pytest.raises(ValueError):
        split("text", 10)
