"""Size, time and type are bounded, whatever a host sends."""

import gzip
import itertools
import threading
import time
import tracemalloc
import zlib

import pytest

from memory.web import PAGE, FetchError, Limits, fetch
from tests.memory.web_servers import response, serve

SMALL = Limits(max_bytes=10_000, seconds=10, content_types=PAGE.content_types)
SHORT = Limits(max_bytes=10_000_000, seconds=0.4, content_types=PAGE.content_types)


def get(server, limits=SMALL):
    return fetch(server.url, limits=limits, allow_hosts=[server.name])


def refused(server, limits=SMALL) -> FetchError:
    with pytest.raises(FetchError) as raised:
        get(server, limits)
    return raised.value


def code_of(answer, limits=SMALL) -> str:
    with serve(answer) as server:
        return refused(server, limits).code


def test_a_body_of_the_most_bytes_is_whole_and_one_more_is_too_large():
    with serve(lambda head: response(b"x" * 10_000)) as server:
        assert len(get(server).body) == 10_000
    assert code_of(lambda head: response(b"x" * 10_001)) == "too_large"


def test_a_length_that_is_too_large_ends_it_before_the_body():
    assert code_of(lambda head: response(b"", "Content-Length: 10001")) == "too_large"


def test_an_endless_body_ends_and_the_connection_with_it():
    with serve(lambda head: itertools.chain(response(), itertools.repeat(b"x" * 1000))) as server:
        assert refused(server).code == "too_large"
        assert server.closed.wait(10)


@pytest.mark.parametrize("encoding, packed", [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_compressed_bodies_are_read(encoding, packed):
    with serve(lambda head: response(packed(b"hello " * 100), f"Content-Encoding: {encoding}")) as server:
        assert get(server).text == "hello " * 100


def test_deflate_without_its_header_is_read():
    bare = zlib.compressobj(wbits=-15)
    data = bare.compress(b"hello " * 100) + bare.flush()
    with serve(lambda head: response(data, "Content-Encoding: deflate")) as server:
        assert get(server).text == "hello " * 100


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_bomb_is_never_unpacked(encoding):
    packer = zlib.compressobj(9, wbits=31 if encoding == "gzip" else 15)
    zeros = bytes(1_000_000)
    bomb = b"".join([*(packer.compress(zeros) for _ in range(40)), packer.flush()])
    with serve(lambda head: response(bomb, f"Content-Encoding: {encoding}")) as server:
        tracemalloc.start()
        assert refused(server).code == "too_large"
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 3_000_000


def test_an_endless_stream_that_unpacks_to_nothing_ends():
    empty_block = b"\x00\x00\x00\xff\xff"  # a stored block without bytes
    stream = itertools.chain(response(b"", "Content-Encoding: deflate"), itertools.repeat(empty_block * 500))
    assert code_of(lambda head: stream) == "too_large"


@pytest.mark.parametrize("encoding", ["gzip, gzip", "br", "zstd", "compress", "x"])
def test_compressions_that_were_not_asked_for(encoding):
    assert code_of(lambda head: response(gzip.compress(b"x"), f"Content-Encoding: {encoding}")) == "encoding"


def test_what_is_not_compressed_as_it_says():
    assert code_of(lambda head: response(b"<p>plain</p>", "Content-Encoding: gzip")) == "encoding"


@pytest.mark.parametrize(
    "kind", ["image/png", "application/pdf", "application/octet-stream", "", "text/htmlx"]
)
def test_types_that_are_not_read(kind):
    assert code_of(lambda head: response(b"x", content_type=kind)) == "content_type"


def drip(head, *pieces):
    yield from pieces
    while True:
        time.sleep(0.05)
        yield b"x"


@pytest.mark.parametrize(
    "begin",
    [
        [],
        [b"HTTP/1.1 200 OK\r\nX-Slow: "],
        response(),
        response(b"", "Transfer-Encoding: chunked")[:1],
    ],
    ids=["status", "header", "body", "chunk"],
)
def test_a_slow_drip_ends_at_the_deadline(begin):
    with serve(lambda head: drip(head, *begin)) as server:
        error = refused(server, SHORT)
        assert error.code in {"timeout", "protocol"}
        assert server.closed.wait(10)


def test_silence_ends_at_the_deadline():
    over = threading.Event()
    with serve(lambda head: over.wait(10) and []) as server:
        error = refused(server, SHORT)
        over.set()
    assert error.code == "timeout" and error.retryable


def test_redirects_share_one_deadline():
    def answer(head):
        time.sleep(0.15)
        return response(b"", "Location: /again", status="302 Found")

    limits = Limits(max_bytes=1000, seconds=0.4, content_types=PAGE.content_types, redirects=50)
    with serve(answer) as server:
        assert refused(server, limits).code == "timeout"
        assert len(server.requests) <= 4


def test_a_resolver_that_hangs_ends_at_the_deadline():
    over = threading.Event()
    with pytest.raises(FetchError) as raised:
        fetch("http://pages.test/", limits=SHORT, resolver=lambda host: over.wait(10) and [])
    over.set()
    assert raised.value.code == "timeout"


def test_a_flood_of_headers():
    flood = itertools.chain([b"HTTP/1.1 200 OK\r\n"], (b"X-%d: y\r\n" % n for n in itertools.count()))
    assert code_of(lambda head: flood) in {"protocol", "too_large"}


def test_an_oversized_header():
    assert code_of(lambda head: [b"HTTP/1.1 200 OK\r\nX: ", b"y" * 500_000, b"\r\n\r\n"]) in {
        "protocol",
        "too_large",
    }


def test_an_endless_row_of_interim_answers():
    assert code_of(lambda head: itertools.repeat(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100)) == "too_large"


def test_a_flood_of_trailers():
    start = response(b"5\r\nhello\r\n0\r\n", "Transfer-Encoding: chunked")
    flood = itertools.chain(start, (b"X-%d: y\r\n" % n for n in itertools.count()))
    assert code_of(lambda head: flood) in {"protocol", "too_large"}


@pytest.mark.parametrize(
    "answer", [b"", b"hello\r\n\r\n", b"HTTP/1.1 200", b"\x16\x03\x01\x00", b"HTTP/1.1 abc OK\r\n\r\n"]
)
def test_what_is_not_http(answer):
    assert code_of(lambda head: [answer]) == "protocol"


def test_a_body_that_breaks_off():
    assert code_of(lambda head: response(b"half", "Content-Length: 100")) == "protocol"


@pytest.mark.parametrize(
    "body, header, expected",
    [
        ("grün".encode(), "", "grün"),
        ("grün".encode("latin-1"), "; charset=ISO-8859-1", "grün"),
        ("grün".encode("latin-1"), "", "grün"),
        (b'<meta charset="windows-1251">' + "да".encode("cp1251"), "", '<meta charset="windows-1251">да'),
        ("﻿grün".encode(), "; charset=latin-1", "grün"),
        ("grün".encode(), "; charset=rot13", "grün"),
        ("grün".encode(), "; charset=punycode", "grün"),
        ("grün".encode(), "; charset=unicode_escape", "grün"),
        ("日本".encode("shift_jis"), '; charset="Shift_JIS"', "日本"),
    ],
)
def test_charsets(body, header, expected):
    with serve(lambda head: response(body, content_type=f"text/plain{header}")) as server:
        assert get(server).text == expected
