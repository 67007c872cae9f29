"""The embedded broker: what a reader may find in its folder, and what it makes of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from kombu import Connection, Consumer, Exchange, Producer, Queue

from musebot_site import broker

QUEUE = Queue("musebot", Exchange("musebot"), routing_key="musebot")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "queue"


@pytest.fixture
def connect(tmp_path: Path, folder: Path):
    broker.register()
    broker.Transport.global_state.clear()  # which queues are bound, kept for the whole process
    opened = []

    def open_one() -> Connection:
        options = {
            "data_folder_in": str(folder),
            "data_folder_out": str(folder),
            "control_folder": str(tmp_path / "control"),
            "polling_interval": 0.01,
        }
        opened.append(Connection(f"{broker.ALIAS}://localhost", transport_options=options))
        return opened[-1]

    yield open_one
    for connection in opened:
        connection.release()


def send(connection: Connection, number: int) -> None:
    Producer(connection).publish(
        {"number": number}, exchange="musebot", routing_key="musebot", declare=[QUEUE], serializer="json"
    )


def receive(connection: Connection) -> list[int]:
    found: list[int] = []

    def take(body, message):
        found.append(body["number"])
        message.ack()

    with Consumer(connection, [QUEUE], callbacks=[take], accept=["json"]):
        try:
            while True:
                connection.drain_events(timeout=0.1)
        except TimeoutError:
            return found


def test_messages_arrive_once_and_in_order(connect, folder):
    sender, reader = connect(), connect()
    for number in range(5):
        send(sender, number)
    assert receive(reader) == [0, 1, 2, 3, 4]
    assert receive(connect()) == []
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b'{"body": "eyJu', b"null" * 3])
def test_what_is_half_written_is_dropped_and_the_rest_arrives(connect, folder, content):
    send(connect(), 1)
    (folder / "0000_x.musebot.msg").write_bytes(content)
    assert receive(connect()) == [1]
    assert list(folder.iterdir()) == []


def test_a_draft_is_not_read(connect, folder):
    send(connect(), 1)
    (folder / "0000_x.musebot.msg.part").write_bytes(b"{")
    assert receive(connect()) == [1]
    broker.clean(folder)
    assert list(folder.iterdir()) == []


def test_a_deleted_folder_comes_back(connect, folder):
    sender, reader = connect(), connect()
    send(sender, 1)
    assert receive(reader) == [1]
    shutil.rmtree(folder.parent / "control")
    shutil.rmtree(folder)
    assert receive(reader) == []
    send(sender, 2)
    assert receive(reader) == [2]


def test_a_broken_table_of_queues_is_mended(connect, folder):
    send(connect(), 1)
    (folder.parent / "control" / "musebot.exchange").write_text("{")
    send(connect(), 2)
    assert receive(connect()) == [1, 2]


def test_wake_ups_that_nobody_fetches_do_not_pile_up(connect, folder, monkeypatch):
    monkeypatch.setattr(broker, "MAX_WAITING", 3)
    sender = connect()
    for number in range(10):
        send(sender, number)
    assert len(list(folder.iterdir())) == 3
    assert receive(connect()) == [0, 1, 2]
