"""Only the public internet is fetched from, however an address is spelled."""

import socket

import pytest

from memory.web import FetchError, fetch
from memory.web.addresses import is_public, target_of
from tests.memory.web_servers import Names


def code_of(url: str, **options) -> str:
    with pytest.raises(FetchError) as raised:
        fetch(url, **{"resolver": Names()} | options)
    assert url not in str(raised.value)
    return raised.value.code


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.8.9.1", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
        *("169.254.169.254", "100.64.0.1", "100.100.100.200", "192.0.0.192", "168.63.129.16"),
        *("192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "192.88.99.1"),
        *("224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"),
        *("::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe"),
        *("64:ff9b:1::1", "2002:7f00:1::", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:db8::1", "100::1"),
        *("not an address", ""),
    ],
)
def test_addresses_that_are_not_of_the_public_internet(address):
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "64:ff9b::101:101", "::ffff:1.1.1.1", "172.32.0.1"],
)
def test_addresses_of_the_public_internet(address):
    assert is_public(address)


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1/", "http://127.0.0.1./", "http://[::1]/", "http://[::ffff:127.0.0.1]/"),
        *("http://[::ffff:7f00:1]/", "http://[fe80::1%25eth0]/", "http://[64:ff9b::7f00:1]/"),
        *("http://2130706433/", "http://0x7f000001/", "http://0x7f.0.0.1/", "http://0177.0.0.1/"),
        *("http://127.1/", "http://127.0.1/", "http://0/", "http://127.0.0.0x1/", "http://1.2.3.4.5/"),
        *("http://localhost/", "http://LOCALHOST/", "http://localhost./", "http://a.localhost/"),
        *("http://127。0。0。1/", "http://169.254.169.254/latest/meta-data/", "http://[::]:80/"),
    ],
)
def test_spellings_of_addresses_inside(url):
    names = Names()
    assert code_of(url, resolver=names) in {"address_not_allowed", "invalid_url"}
    assert names.asked == []


@pytest.mark.parametrize(
    "url",
    [
        *(
            "ftp://example.com/",
            "file:///etc/passwd",
            "gopher://example.com/",
            "//example.com/",
            "example.com",
        ),
        *("http://user:secret@example.com/", "http://example.com@127.0.0.1/", "http://", "http:///path"),
        *("http://example.com\\@127.0.0.1/", "http://exa mple.com/", "http://example.com/\r\nHost: inside"),
        *("http://intranet/", "http://-x.example.com/", "http://ex_ä mple.com/", "http://127%2e0.0.1/"),
        *(
            "http://①②⑦.⓪.⓪.①/",
            "http://ⓛocalhost/",
            "http://example.com:99999/",
            "http://[::1/",
            "http://[v1.x]/",
        ),
        "http://example.com/" + "a" * 3000,
    ],
)
def test_what_is_no_address_of_a_page(url):
    assert code_of(url) in {"invalid_url", "address_not_allowed", "port_not_allowed"}


@pytest.mark.parametrize("port", [22, 25, 6379, 8000, 11434])
def test_other_ports_are_not_fetched_from(port):
    assert code_of(f"http://example.com:{port}/") == "port_not_allowed"


def test_one_address_inside_refuses_a_host_altogether():
    names = Names(pages_test=[["93.184.216.34", "10.0.0.7"]])
    assert code_of("http://pages.test/", resolver=names) == "address_not_allowed"


@pytest.mark.parametrize(
    "inside", ["127.0.0.1", "::1", "fe80::1%eth0", "::ffff:169.254.169.254", "2002:7f00:1::"]
)
def test_a_name_that_leads_inside(inside):
    assert code_of("https://pages.test/", resolver=Names(pages_test=[[inside]])) == "address_not_allowed"


def test_names_in_other_scripts_are_looked_up_as_dns_has_them():
    names = Names()
    assert code_of("http://bücher.example./", resolver=names) == "not_found"
    assert names.asked == ["xn--bcher-kva.example"]


def test_a_resolver_that_is_away_is_worth_another_try():
    def away(host):
        raise socket.gaierror(socket.EAI_AGAIN, "try again")

    with pytest.raises(FetchError) as raised:
        fetch("http://pages.test/", resolver=away)
    assert raised.value.code == "unreachable" and raised.value.retryable


def test_hosts_of_the_operator_are_matched_exactly():
    allowed = ["127.0.0.1:8123", "cdn.example.com", "[::1]:81"]
    for url in ("http://127.0.0.1:8123/x", "https://cdn.example.com/x", "http://[::1]:81/"):
        assert target_of(url, allow_hosts=allowed).operators
    assert not target_of("http://127.0.0.1/x", allow_hosts=allowed).operators
    for url in ("http://127.0.0.1:8124/", "http://cdn.example.com:8123/"):
        with pytest.raises(FetchError):
            target_of(url, allow_hosts=allowed)
    assert not target_of("http://evil.cdn.example.com/", allow_hosts=allowed).operators
