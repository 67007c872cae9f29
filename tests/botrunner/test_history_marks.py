"""How far channels were seen: written rarely, and never past what was missed or could not be stored."""

import time

from botrunner.limits import Limits
from botrunner.listing import HISTORY, VIEW, Server
from botrunner.marks import Marks
from memory.types import GuildInfo


def test_nothing_is_written_before_what_was_missed_is_noted():
    marks = Marks()
    marks.saw(1, 10, 100)
    assert marks.take() == {}
    marks.thaw()
    assert marks.take() == {1: {10: 100}}
    assert marks.take() == {}
    marks.saw(1, 10, 101)
    marks.freeze()
    assert marks.take() == {}
    marks.thaw()
    assert marks.take() == {1: {10: 101}}


def test_the_newest_counts_in_whatever_order():
    marks = Marks()
    marks.thaw()
    for one in (5, 7, 6):
        marks.saw(1, 10, one)
    seen = marks.take()
    assert seen == {1: {10: 7}}
    marks.saw(1, 10, 8)
    marks.give_back(seen)
    assert marks.take() == {1: {10: 8}}


def test_a_message_that_could_not_be_stored_holds_its_channel():
    marks = Marks()
    marks.thaw()
    marks.failed(10, 6)
    for one in (5, 7):
        marks.saw(1, 10, one)
        marks.saw(1, 11, one)
    assert marks.take() == {1: {10: 5, 11: 7}}
    marks.thaw()  # caught up
    marks.saw(1, 10, 8)
    assert marks.take() == {1: {10: 8}}


def test_a_bucket_that_is_used_up_waits_and_others_do_not():
    limits = Limits()
    limits.note("a", {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": "5.5"})
    limits.note("b", {"X-RateLimit-Remaining": "3", "X-RateLimit-Reset-After": "5.5"})
    assert 5 < limits.delay("a") <= 5.5 and limits.delay("b") == 0
    limits.refused("b", 60, everywhere=True)
    assert limits.delay("a") > 50 and limits.delay("c") > 50


async def test_the_global_limit_is_kept_before_it_is_hit():
    limits = Limits(per_second=200)
    limits.note("a", {"X-RateLimit-Remaining": "4"})
    begin = time.monotonic()
    for _ in range(11):
        await limits.wait("a")
    assert time.monotonic() - begin >= 10 / 200


def test_permissions_follow_discords_rules():
    server = Server(GuildInfo(id=1), 9, 5, frozenset({2, 3}), {1: VIEW | HISTORY, 2: 0, 3: 0})
    rule = {"type": 0, "allow": 0, "deny": 0}
    assert server.why_not({"type": 0}) == ""
    assert (
        server.why_not({"type": 0, "permission_overwrites": [{**rule, "id": "1", "deny": HISTORY}]})
        == "no_history"
    )
    role_allows = [{**rule, "id": "1", "deny": VIEW}, {**rule, "id": "2", "allow": VIEW}]
    assert server.why_not({"type": 0, "permission_overwrites": role_allows}) == ""
    member_denies = [*role_allows, {**rule, "id": "5", "type": 1, "deny": VIEW}]
    assert server.why_not({"type": 0, "permission_overwrites": member_denies}) == "no_view"
    assert server.why_not({"type": 2}) == "no_connect"
