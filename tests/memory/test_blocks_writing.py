"""Rules of writing: revisions are kept and capped, limits and undo have their bounds."""

from __future__ import annotations

import pytest

from memory import blocks
from memory.blocks import Actor, writing
from memory.blocks.errors import OverLimit, Refused
from memory.errors import InvalidInput, NotFound
from memory.models import BlockRevision, MemoryBlock
from tests.factories import MemberFactory
from tests.memory.blocks_support import place

pytestmark = pytest.mark.django_db
ADMIN = Actor("admin", 1)


@pytest.fixture
def where():
    return place(MemberFactory())


def test_each_change_is_a_revision_with_who_and_why(where):
    blocks.append(where.human(), "one", actor=where.actor("model", reason="said so", call_id="c1"))
    blocks.edit(where.human(), "two", version=1, actor=ADMIN)
    first, second = BlockRevision.objects.order_by("version")
    assert (first.version, first.value, first.action, first.actor_kind) == (1, "one", "append", "model")
    assert (first.actor, first.reason, first.tool_call_id) == (where.user_id, "said so", "c1")
    assert (second.value, second.action, second.actor_kind) == ("two", "edit", "admin")


def test_a_change_that_changes_nothing_is_none(where):
    blocks.append(where.human(), "one", actor=where.actor("model"))
    assert blocks.edit(where.human(), "one", version=1, actor=ADMIN).version == 1
    assert BlockRevision.objects.count() == 1


def test_two_hundred_revisions_are_kept(where, monkeypatch):
    monkeypatch.setattr(writing, "KEPT_REVISIONS", 5)
    other = place(MemberFactory())
    blocks.append(where.working_context(), "by somebody else", actor=other.actor("model"))
    for number in range(9):
        blocks.edit(where.working_context(), f"text {number}", version=number + 1, actor=where.actor("user"))
    versions = list(BlockRevision.objects.order_by("version").values_list("version", flat=True))
    # The first stays: by it an erasure finds that somebody else had a part in the text.
    assert versions == [1, 6, 7, 8, 9, 10]


def test_limits(where):
    blocks.edit(where.human(), "x" * 100, version=0, actor=ADMIN)
    with pytest.raises(OverLimit) as caught:
        blocks.set_limit(where.human(), 99)
    assert caught.value.details == {"chars": 100, "limit": 99, "overage": 1}
    for wrong in (0, 20_001):
        with pytest.raises(InvalidInput):
            blocks.set_limit(where.human(), wrong)
    blocks.set_limit(where.human(), 20_000)
    blocks.edit(where.human(), "字" * 20_000, version=1, actor=ADMIN)
    assert blocks.get(where.human()).chars == 20_000


def test_undo_is_for_the_member_and_for_admins(where):
    actor = where.actor("model")
    blocks.append(where.human(), "one", actor=actor)
    blocks.append(where.working_context(), "step", actor=actor)
    for ref, who in (
        (where.human(), place(MemberFactory()).actor("user")),
        (where.working_context(), where.actor("user")),
        (where.human(), actor),
    ):
        with pytest.raises(Refused):
            blocks.undo(ref, actor=who)
    assert blocks.undo(where.human(), actor=where.actor("user")).version == 2
    assert blocks.get(where.human()).value == ""
    blocks.undo(where.working_context(), actor=ADMIN)
    with pytest.raises(NotFound):
        blocks.restore(MemoryBlock.objects.first().pk, to=77, version=2, actor=ADMIN)
    with pytest.raises(NotFound):
        blocks.undo(place(MemberFactory()).human(), actor=ADMIN)


def test_nobody_but_admins_writes_the_persona(where):
    for change in (
        lambda: blocks.append(blocks.persona(), "x", actor=where.actor("model")),
        lambda: blocks.edit(blocks.persona(5), "x", version=0, actor=where.actor("user")),
        lambda: blocks.edit(blocks.persona(), "x", version=0, actor=Actor("consolidation")),
    ):
        with pytest.raises(Refused):
            change()
    assert blocks.edit(blocks.persona(), "You are Muse.", version=0, actor=ADMIN).version == 1


def test_a_race_is_tried_again_three_times_and_then_a_conflict(where, monkeypatch):
    actor = where.actor("model")
    blocks.append(where.human(), "one", actor=actor)
    tries = []

    def meanwhile(row):
        tries.append(row.version)
        if len(tries) <= faster:
            row.version += 1000  # as if it had been read before somebody else wrote

    real = writing._row

    def reading(ref):
        row = real(ref)
        meanwhile(row)
        return row

    monkeypatch.setattr(writing, "_row", reading)
    faster = 2
    assert blocks.append(where.human(), "two", actor=actor).version == 2
    tries.clear()
    faster = 3
    with pytest.raises(blocks.BlockConflict):
        blocks.append(where.human(), "three", actor=actor)
    assert len(tries) == 3


def test_the_private_block_is_another_than_the_shared_one():
    member = MemberFactory()
    private, shared = place(member), place(member, private=False)
    blocks.append(private.human(), "in private", actor=private.actor("model"))
    blocks.append(shared.human(), "in public", actor=shared.actor("model"))
    assert [block.value for block in blocks.blocks_for(private)] == ["in public", "in private", ""]
    assert [block.value for block in blocks.blocks_for(shared)] == [""]
