"""Several Ollama hosts: which one is asked, what happens when it fails, and when it is back."""

from __future__ import annotations

import threading

import pytest

from memory.errors import ModelMissing, ModelRejected, ModelReplyInvalid, ModelTimeout, ModelUnavailable
from tests.ollama_servers import Clock, ask, chat_of, dead_url, free_port, pool_of, text_of
from tests.simulators.ollama import run_sim
from tests.waiting import wait_until

CHAT = {"endpoint": "chat"}


def said(sim) -> int:
    return len(sim.calls("chat"))


def test_a_dead_host_is_passed_over(sims):
    alive = sims()
    assert text_of(chat_of(dead_url(), alive.url)) == "echo: hello"


@pytest.mark.parametrize(
    "fault",
    [
        {"drop_after": -1},
        {"drop_after": 0},
        {"status": 500, "error": "llama runner process has terminated: exit status 2"},
        {"status": 503, "error": "server busy, please try again.  maximum pending requests exceeded"},
        {"error_after": 0},
        {"raw_status": 502, "raw_body": "<html>Bad Gateway</html>", "raw_type": "text/html"},
        {"raw_status": 200, "raw_body": "<html>Sign in</html>", "raw_type": "text/html"},
        {"raw_status": 403, "raw_body": ""},
        {"malformed_after": 0},
        {"chunks": [], "no_done": True},
    ],
    ids=lambda fault: "-".join(map(str, fault)),
)
def test_what_fails_before_the_first_piece_goes_to_the_next_host(sims, fault):
    first, second = sims(), sims()
    first.on(CHAT, fault)
    assert text_of(chat_of(first.url, second.url)) == "echo: hello"
    assert said(first) == 1 and said(second) == 1


def test_a_host_that_hangs_is_left_for_the_next(sims):
    first, second = sims(), sims()
    first.on(CHAT, {"first_delay": 30})
    assert text_of(chat_of(first.url, second.url, timeout=0.3)) == "echo: hello"


def test_thinking_is_no_piece_yet(sims):
    first, second = sims(), sims()
    first.on(CHAT, {"chunks": ["<think>", "let me see", " further"], "drop_after": 2, "token_delay": 0.02})
    assert text_of(chat_of(first.url, second.url)) == "echo: hello"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ({"drop_after": 2, "token_delay": 0.02}, ModelUnavailable),
        ({"error_after": 2}, ModelReplyInvalid),
        ({"malformed_after": 2}, ModelReplyInvalid),
        ({"no_done": True}, ModelReplyInvalid),
    ],
    ids=["cut", "error line", "malformed line", "no end"],
)
def test_what_fails_after_the_first_piece_is_raised_and_not_begun_again(sims, fault, error):
    first, second = sims(), sims()
    first.on(CHAT, {"reply": "one two three four", **fault}, times=1)
    chat = chat_of(first.url, second.url)
    got: list[str] = []
    with pytest.raises(error):
        got.extend(chunk.text for chunk in chat.stream(ask()))
    assert "".join(got).startswith("one two ")
    assert said(second) == 0
    assert text_of(chat) == "echo: hello"  # the next request works


def test_a_refusal_is_final(sims):
    first, second = sims(), sims()
    first.on(CHAT, {"status": 400, "error": "invalid format"})
    with pytest.raises(ModelRejected):
        text_of(chat_of(first.url, second.url))
    assert said(second) == 0


def test_only_hosts_that_have_the_model_are_asked(sims):
    first, second = sims(), sims()
    second.add_model("Rare:7b")
    assert text_of(chat_of(first.url, second.url, model="rare:7b")) == "echo: hello"
    assert said(first) == 0


def test_names_are_compared_with_their_tag(sims):
    sim = sims()
    assert text_of(chat_of(sim.url, model="SIM-chat:latest")) == "echo: hello"


def test_a_model_that_no_host_has_says_what_to_do(sims):
    with pytest.raises(ModelMissing, match="ollama pull nope"):
        text_of(chat_of(sims().url, sims().url, model="nope"))


def test_a_model_that_is_pulled_later_is_found(sims):
    sim, clock = sims(), Clock()
    chat = chat_of(sim.url, model="new", clock=clock)
    with pytest.raises(ModelMissing):
        text_of(chat)
    sim.add_model("new")
    clock.now += 3
    assert text_of(chat) == "echo: hello"


def test_a_model_that_was_removed_from_one_host_is_asked_of_the_other(sims):
    first, second = sims(), sims()
    chat = chat_of(first.url, second.url)
    assert text_of(chat) == "echo: hello"
    first.remove_model("sim-chat")
    assert text_of(chat) == "echo: hello"
    assert said(second) == 1


def test_missing_here_and_away_there_may_come_back(sims):
    with pytest.raises(ModelUnavailable, match="do not answer"):
        text_of(chat_of(sims().url, dead_url(), model="nope"))


def test_the_least_busy_host_is_asked(sims):
    first, second = sims(), sims()
    chat = chat_of(first.url, second.url)
    held = chat.stream(ask())
    next(held)
    assert text_of(chat) == "echo: hello"
    assert (said(first), said(second)) == (1, 1)
    held.close()
    assert text_of(chat) == "echo: hello"
    assert (said(first), said(second)) == (2, 1)


def test_a_turn_is_given_back_however_a_stream_ends(sims):
    sim = sims()
    chat = chat_of(sim.url)
    host = chat._pool.hosts[0]
    next(stream := chat.stream(ask()))
    assert host.load == 1
    stream.close()
    assert host.load == 0
    sim.on(CHAT, {"reply": "abcdefghijkl", "no_done": True}, times=1)
    with pytest.raises(ModelReplyInvalid):
        text_of(chat)
    sim.on(CHAT, {"status": 400, "error": "invalid format"}, times=1)
    with pytest.raises(ModelRejected):
        text_of(chat)
    assert host.load == 0


def test_requests_wait_for_their_turn_in_our_queue(sims):
    sim = sims(num_parallel=8)
    sim.on(CHAT, {"reply": "abcdefgh", "first_delay": 0.1})
    chat = chat_of(sim.url)
    answers: list[str] = []
    threads = [threading.Thread(target=lambda: answers.append(text_of(chat))) for _ in range(6)]
    for thread in threads:
        thread.start()
    wait_until(lambda: chat._pool.hosts[0].load == 6)
    for thread in threads:
        thread.join(10)
    assert answers == ["abcdefgh"] * 6
    assert max(call["active"] for call in sim.calls("chat")) <= 1  # one in, one coming: never more than two


def test_a_host_is_used_again_once_it_is_back():
    port, clock = free_port(), Clock()
    chat = chat_of(f"http://127.0.0.1:{port}", clock=clock)
    for _ in range(3):
        with pytest.raises(ModelUnavailable):
            text_of(chat)
    with run_sim(port=port):
        clock.now += 11
        assert text_of(chat) == "echo: hello"
    with pytest.raises(ModelUnavailable):
        text_of(chat)
    with run_sim(port=port):
        clock.now += 11
        assert text_of(chat) == "echo: hello"


def test_a_dead_host_is_asked_at_growing_intervals(sims):
    sim, clock = sims(), Clock()
    sim.on({"endpoint": "tags"}, {"raw_status": 502, "raw_body": "<html>"})
    chat = chat_of(sim.url, clock=clock)
    asked = []
    for _ in range(40):
        with pytest.raises((ModelUnavailable, ModelReplyInvalid)):
            text_of(chat)
        asked.append(len(sim.calls("tags")))
        clock.now += 0.5
    assert asked[0] == 1 and asked[-1] <= 8  # in 20 seconds


def test_a_host_that_is_back_is_seen_while_another_one_serves(sims):
    port, clock, other = free_port(), Clock(), sims()
    chat = chat_of(f"http://127.0.0.1:{port}", other.url, clock=clock)
    assert text_of(chat) == "echo: hello"
    with run_sim(port=port) as back:
        clock.now += 30

        def used() -> bool:
            text_of(chat)
            clock.now += 5
            return bool(back.calls("chat"))

        wait_until(used)


def test_all_hosts_away_names_them(sims):
    urls = dead_url(), dead_url()
    with pytest.raises(ModelUnavailable) as caught:
        text_of(chat_of(*urls))
    assert all(url in caught.value.message for url in urls)


def test_all_hosts_too_slow_is_a_time_out(sims):
    first, second = sims(), sims()
    for sim in (first, second):
        sim.on(CHAT, {"first_delay": 30})
    with pytest.raises(ModelTimeout):
        text_of(chat_of(first.url, second.url, timeout=0.2))


def test_a_busy_host_is_asked_again_after_a_pause(sims):
    sim, clock = sims(), Clock()
    sim.on(CHAT, {"status": 503, "error": "Server overloaded"}, times=2)
    assert text_of(chat_of(sim.url, clock=clock)) == "echo: hello"
    assert clock.slept == [0.5, 1.0]


def test_no_hosts_at_all():
    with pytest.raises(ModelUnavailable, match="OLLAMA_HOSTS"):
        text_of(chat_of())


def test_check_tells_each_hosts_state(sims):
    sim, dead = sims(), dead_url()
    sim.add_model("other")
    report = pool_of(sim.url, dead).check("sim-chat")
    assert report["ok"] is True and report["message"] == ""
    alive, gone = report["hosts"]
    assert (
        alive["host"] == sim.url
        and alive["ok"]
        and alive["has_model"]
        and "completion" in alive["capabilities"]
    )
    assert (
        gone["host"] == dead
        and not gone["ok"]
        and not gone["has_model"]
        and "cannot be reached" in gone["error"]
    )
    missing = pool_of(sim.url).check("nope")
    assert missing["ok"] is False and "ollama pull nope" in missing["message"]
