"""Which links of a text are looked at."""

import pytest

from memory.capture.links import MOST_LINKS, links_in


@pytest.mark.parametrize(
    "text, expected",
    [
        ("see https://example.com/a.", ["https://example.com/a"]),
        ("(https://example.com/a)", ["https://example.com/a"]),
        ("https://en.wikipedia.org/wiki/Tide_(sea)", ["https://en.wikipedia.org/wiki/Tide_(sea)"]),
        ("[tides](https://example.com/a?b=c&d=e#f), and", ["https://example.com/a?b=c&d=e#f"]),
        ("<https://example.com/quiet>", ["https://example.com/quiet"]),
        ("||https://example.com/spoiler||", ["https://example.com/spoiler"]),
        ("**https://example.com/bold**", ["https://example.com/bold"]),
        ("HTTPS://Example.com/x", ["HTTPS://Example.com/x"]),
        ("https://a.example/ https://a.example/", ["https://a.example/"]),
        ("https://discord.com/channels/1/2/3 https://discord.gg/abc", []),
        ("https:// http://. ftp://example.com www.example.com http://[", []),
        ("", []),
    ],
)
def test_links_of_a_text(text, expected):
    assert links_in(text) == expected


def test_no_more_than_a_few_are_looked_at():
    text = " ".join(f"https://example.com/{n}" for n in range(50))
    assert links_in(text) == [f"https://example.com/{n}" for n in range(MOST_LINKS)]


def test_a_wall_of_brackets_takes_no_time():
    assert links_in("https://example.com/" + ")" * 100_000) == ["https://example.com/"]
