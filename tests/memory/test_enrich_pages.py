"""From a page to its title and text, whatever the page is like."""

from contextlib import suppress

import pytest

from memory.capture.webpage import MOST_CHARACTERS, PageUnreadable, read_page
from memory.web import Fetched

ARTICLE = """<!doctype html><html><head><title>How tides work | The Harbour Gazette</title>
<style>p { color: red }</style><script>alert("no")</script></head><body>
<nav><a href="/">Home</a> <a href="/about">About us</a></nav>
<article><h1>How tides work</h1>
<p>Twice a day the sea rises, and twice it falls again, because the moon pulls
at the water, and the water follows.</p><p>In spring, when sun and moon are in one line, the tide is highest,
and sailors &amp; fishers look at the tables, as they have done for three hundred years.</p>
<script>track()</script></article><footer>Copyright, all rights reserved</footer></body></html>"""


def page(body: str | bytes, content_type: str = "text/html", charset: str = "utf-8") -> Fetched:
    data = body.encode() if isinstance(body, str) else body
    return Fetched("https://pages.test/", content_type, charset, data)


def test_title_and_main_text_of_an_article():
    found = read_page(page(ARTICLE))
    assert found.title.startswith("How tides work")
    assert "because the moon pulls at the water, and the water follows." in found.text
    assert "sailors & fishers" in found.text
    assert "\n" in found.text
    for noise in ("alert", "track", "color", "<", "About us"):
        assert noise not in found.text


@pytest.mark.parametrize("kind", ["text/plain", "text/markdown"])
def test_plain_text_is_taken_as_it_is(kind):
    assert read_page(page("# Tides\n\n<b>high\0</b>", kind)).text == "# Tides\n\n<b>high</b>"


def test_long_texts_are_cut():
    assert len(read_page(page("word " * 10_000, "text/plain")).text) <= MOST_CHARACTERS
    long = (
        "<title>" + "t" * 5000 + "</title><article>" + "<p>a long paragraph, with commas, of text</p>" * 2000
    )
    found = read_page(page(long))
    assert 7000 < len(found.text) <= MOST_CHARACTERS and len(found.title) <= 200


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<",
        "<html>",
        "<p>hi",
        "\0\0\0",
        "<div>" * 50_000,
        "<!-- " * 1000,
        "<a b=" * 1000,
        b"\xff\xfe\xfa",
        "&#xD800;",
    ],
)
def test_broken_pages_do_no_harm(body):
    with suppress(PageUnreadable):
        assert len(read_page(page(body)).text) <= MOST_CHARACTERS


def test_a_page_without_an_article_still_says_something():
    assert "opens at nine" in read_page(page("<title>Shop</title><div>The shop opens at nine</div>")).text


def test_a_page_that_keeps_the_parser_busy_is_given_up():
    hostile = "<body><div " + " ".join(f"a{n}=1" for n in range(200_000)) + ">x</div>"
    with pytest.raises(PageUnreadable):
        read_page(page(hostile), seconds=1.5)


def test_entities_that_multiply_stay_small():
    bomb = (
        '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
        + "".join(
            f'<!ENTITY {name} "{"&" + before + ";" * 1}{("&" + before + ";") * 9}">'
            for before, name in zip("abcdefgh", "bcdefghi", strict=True)
        )
        + "]><html><body><p>&i;</p></body></html>"
    )
    assert len(read_page(page(bomb, "application/xhtml+xml")).text) < 1000


def test_files_of_this_machine_are_not_read(tmp_path):
    (tmp_path / "secret.txt").write_text("the secret")
    body = f'<!DOCTYPE x [<!ENTITY s SYSTEM "file://{tmp_path}/secret.txt">]><html><body><p>It is &s; here</p></body></html>'
    assert "the secret" not in read_page(page(body)).text
