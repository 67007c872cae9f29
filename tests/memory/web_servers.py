"""Web servers for tests that answer with exactly the bytes they are told, however wrong."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from memory.web import addresses, network

Answer = Callable[[bytes], Iterable[bytes]]
"""From the head of a request to the pieces of what is sent back."""

PUBLIC = "127.0.0.2"
"""The address that ``open_web`` takes for one of the public internet."""


def response(
    body: bytes = b"", *headers: str, status: str = "200 OK", content_type: str = "text/html; charset=utf-8"
) -> list[bytes]:
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {content_type}", "Connection: close", *headers]
    return ["\r\n".join(lines).encode() + b"\r\n\r\n", body]


@dataclass
class Server:
    host: str
    port: int
    requests: list[bytes] = field(default_factory=list)
    closed: threading.Event = field(default_factory=threading.Event)
    """Set once a client has gone while something was still being sent to it."""

    @property
    def name(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.name}/"


@contextmanager
def serve(
    answer: Answer, *, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> Iterator[Server]:
    with socket.create_server((host, port)) as listener:
        server = Server(host, listener.getsockname()[1])
        over = threading.Event()

        def handle(connection: socket.socket) -> None:
            try:
                with connection:
                    connection.settimeout(20)
                    if tls:
                        connection = tls.wrap_socket(connection, server_side=True)
                    head = b""
                    while b"\r\n\r\n" not in head:
                        piece = connection.recv(65536)
                        if not piece:
                            return
                        head += piece
                    server.requests.append(head)
                    for piece in answer(head):
                        if over.is_set():
                            return
                        connection.sendall(piece)
                    if tls:
                        connection.close()
            except OSError:
                server.closed.set()

        def accept() -> None:
            while not over.is_set():
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=handle, args=[connection], daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            over.set()
            # Wakes the thread, which may not notice that its listener is gone.
            with socket.socket() as knock:
                knock.connect_ex((host, server.port))
            thread.join(5)


class Names:
    """A resolver that is told what to answer, and remembers what it was asked."""

    def __init__(self, **answers: list[list[str]]) -> None:
        self.answers = {name.replace("_", "."): list(lists) for name, lists in answers.items()}
        self.asked: list[str] = []

    def __call__(self, host: str) -> list[str]:
        self.asked.append(host)
        answers = self.answers.get(host)
        if not answers:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return answers.pop(0) if len(answers) > 1 else answers[0]


@pytest.fixture
def open_web(monkeypatch):
    """``open_web(server)`` makes the server's address a public one and its port the one of ``http`` (or another scheme)."""

    def admit(server: Server, scheme: str = "http") -> None:
        is_public = addresses.is_public
        monkeypatch.setitem(addresses.PORTS, scheme, server.port)
        monkeypatch.setattr(network, "is_public", lambda address: address == PUBLIC or is_public(address))

    return admit
