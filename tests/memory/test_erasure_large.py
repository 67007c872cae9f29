"""More messages than a statement of SQLite takes variables, with unique words that must leave every file."""

import pytest

from memory import capture, erasure
from memory.models import Message, OutboxEntry
from tests.factories import START, incoming
from tests.memory.memory_support import files_with, opted_in

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_more_than_33_000_memories_go_and_their_words_leave_the_file():
    ada, bob = opted_in("ada"), opted_in("bob")
    # Neighbours in every page, so that pages are balanced while hers leave.
    for start in range(0, 34_000, 2_000):
        some = []
        for n in range(start, start + 2_000):
            some.append(incoming(f"zanzibar{n} quixote", author=ada, sent_at=START))
            if n % 16 == 0:
                some.append(incoming(f"barnacle{n} reef", author=bob, sent_at=START))
        assert capture.record_messages(some, source="import").stored == 2_125
    assert Message.objects.filter(member_id=ada.id).count() == 34_000

    request = erasure.run(erasure.request(user_id=ada.id, origin="member").id)

    assert (request.state, request.stage, request.done) == ("done", "", 34_000)
    assert files_with(b"zanzibar", b"quixot", str(ada.id).encode()) == []
    assert erasure.verify(ada.id) == {}
    assert Message.objects.count() == 2_125 and not OutboxEntry.objects.filter(user_id=ada.id).exists()


def test_a_second_erasure_leaves_no_beginnings_of_words_in_the_index():
    """FTS5 notes where its pages begin by a word's beginning, and does not merge what is one segment already."""
    people = [opted_in(name) for name in ("ada", "bob", "eve")]
    words = ("quixotarium", "zanzibarist", "barnacle")
    for start in range(0, 6_000, 500):
        some = [
            incoming(f"{words[n % 3]}{n} and more of it", author=people[n % 3], sent_at=START)
            for n in range(start, start + 500)
        ]
        capture.record_messages(some, source="import")
    for member, word in zip(people[:2], words, strict=False):
        assert files_with(word.encode())
        erasure.run(erasure.request(user_id=member.id, origin="member").id)
        assert files_with(word[:8].encode()) == []
    assert files_with(b"barnacle")
