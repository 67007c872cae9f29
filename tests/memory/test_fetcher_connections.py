"""A connection goes to the address that was checked, and to no other; nothing of ours goes with it."""

import socket
import ssl
import subprocess

import pytest

from memory.web import FetchError, fetch, fetcher, network
from tests.memory.web_servers import PUBLIC, Names, open_web, response, serve

__all__ = ["open_web"]


def page(head: bytes) -> list[bytes]:
    return response(b"<p>hello</p>")


def refused(url: str, **options) -> FetchError:
    with pytest.raises(FetchError) as raised:
        fetch(url, **options)
    return raised.value


def test_a_name_that_changes_its_address_is_looked_up_only_once(open_web, monkeypatch):
    looked_up = []
    getaddrinfo = socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *rest, **more: looked_up.append(host) or getaddrinfo(host, *rest, **more),
    )
    with serve(page, host=PUBLIC) as outside, serve(page, port=outside.port) as inside:
        open_web(outside)
        names = Names(pages_test=[[PUBLIC], ["127.0.0.1"]])
        found = fetch("http://pages.test/", resolver=names)
        assert found.text == "<p>hello</p>"
        assert names.asked == ["pages.test"]
        assert len(outside.requests) == 1 and inside.requests == []
    assert set(looked_up) <= {PUBLIC, PUBLIC.encode()}


def test_every_hop_is_looked_up_and_checked_anew(open_web):
    def redirect(head):
        return response(b"", "Location: http://pages.test/second", status="302 Found")

    with serve(redirect, host=PUBLIC) as outside, serve(page, port=outside.port) as inside:
        open_web(outside)
        names = Names(pages_test=[[PUBLIC], ["127.0.0.1"]])
        assert refused("http://pages.test/", resolver=names).code == "address_not_allowed"
        assert names.asked == ["pages.test"] * 2
        assert len(outside.requests) == 1 and inside.requests == []


@pytest.mark.parametrize(
    "location",
    [
        *(
            "http://127.0.0.1/",
            "http://127.0.0.1:8000/",
            "http://localhost/",
            "http://2130706433/",
            "http://[::1]/",
        ),
        *("file:///etc/passwd", "http://user@pages.test/", "ftp://pages.test/", "//127.0.0.1/", "http://[::"),
    ],
)
def test_a_redirect_that_leads_inside(open_web, location):
    with serve(
        lambda head: response(b"", f"Location: {location}", status="301 Moved"), host=PUBLIC
    ) as server:
        open_web(server)
        error = refused("http://pages.test/", resolver=Names(pages_test=[[PUBLIC]]))
        assert error.code in {"address_not_allowed", "invalid_url", "port_not_allowed"}
        assert len(server.requests) == 1


def test_a_host_of_the_operator_redirects_to_no_other_inside():
    with serve(page) as inside:
        with serve(lambda head: response(b"", f"Location: {inside.url}", status="307 Moved")) as server:
            assert refused(server.url, allow_hosts=[server.name]).code in {
                "address_not_allowed",
                "port_not_allowed",
            }
        assert inside.requests == []


def test_redirects_are_followed_and_end():
    def answer(head):
        step = int(head.split(b"/", 1)[1].split(b" ")[0] or 0)
        if step < steps:
            return response(b"", f"Location: /{step + 1}", status="302 Found")
        return page(head)

    with serve(answer) as server:
        steps = 3
        assert fetch(server.url, allow_hosts=[server.name]).url == f"{server.url}3"
        steps = 100
        error = refused(server.url, allow_hosts=[server.name])
        assert error.code == "redirects" and not error.retryable
        assert len(server.requests) == 8


def test_proxies_cookies_and_credentials_stay_out(monkeypatch, tmp_path):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    monkeypatch.setenv("HOME", str(tmp_path))

    def answer(head):
        if b"GET / " in head:
            return response(b"", "Location: /next", "Set-Cookie: seen=1", status="302 Found")
        return page(head)

    with serve(answer) as server:
        fetch(server.url + "#secret", allow_hosts=[server.name])
    for head in server.requests:
        names = {line.partition(b":")[0].lower() for line in head.split(b"\r\n")[1:] if line}
        assert names == {b"host", b"user-agent", b"accept", b"accept-encoding", b"connection"}
        assert b"secret" not in head


def test_an_address_that_does_not_answer_leaves_the_next_one_its_turn(open_web, monkeypatch):
    with serve(page, host=PUBLIC) as server:
        open_web(server)
        monkeypatch.setattr(network, "is_public", lambda address: address.startswith("127.0.0."))
        found = fetch("http://pages.test/", resolver=Names(pages_test=[["127.0.0.3", PUBLIC]]))
    assert found.body == b"<p>hello</p>"


def test_a_host_that_is_away_is_worth_another_try():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    error = refused(f"http://127.0.0.1:{port}/", allow_hosts=[f"127.0.0.1:{port}"])
    assert error.code == "unreachable" and error.retryable


@pytest.mark.parametrize(
    "status, again", [("404 Gone", False), ("403 No", False), ("500 Oh", True), ("429 Slow", True)]
)
def test_a_refusal_says_whether_another_try_may_help(status, again):
    with serve(lambda head: response(b"no", status=status)) as server:
        error = refused(server.url, allow_hosts=[server.name])
    assert error.code == "http_status" and error.retryable is again
    assert error.details == {"http_status": int(status.split()[0])}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate of pages.test, made for these tests."""
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ]
    command += ["-keyout", str(key), "-out", str(cert), "-days", "2", "-subj", "/CN=pages.test"]
    try:
        subprocess.run(
            [*command, "-addext", "subjectAltName=DNS:pages.test"], check=True, capture_output=True
        )
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    return key, cert


def test_the_name_is_verified_though_the_connection_goes_to_an_address(open_web, monkeypatch, certificate):
    key, cert = certificate
    asked_for = []
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(cert, key)
    tls.sni_callback = lambda connection, name, context: asked_for.append(name)
    with serve(page, host=PUBLIC, tls=tls) as server:
        open_web(server, "https")
        names = Names(pages_test=[[PUBLIC]], others_test=[[PUBLIC]])
        assert refused("https://pages.test/", resolver=names).code == "tls"  # nobody we trust signed it
        monkeypatch.setattr(fetcher, "tls_context", lambda: ssl.create_default_context(cafile=cert))
        assert fetch("https://pages.test/", resolver=names).body == b"<p>hello</p>"
        assert refused("https://others.test/", resolver=names).code == "tls"
        assert refused(f"https://{PUBLIC}/").code == "tls"
    assert asked_for[:3] == ["pages.test", "pages.test", "others.test"]
    assert len(server.requests) == 1
