"""The Ollama simulator under the official client (sync and async) and raw HTTP."""

import asyncio
import base64
import json
import time

import httpx
import pytest
from ollama import AsyncClient, Client, ResponseError
from pydantic import BaseModel

from tests.simulators.ollama import OllamaSim, hash_embed, parse_keep_alive, run_sim

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def sim():
    with run_sim() as s:
        yield s


@pytest.fixture
def c(sim):
    return Client(host=sim.url, timeout=20)


def say(text, **kw):
    return [{"role": "user", "content": text, **kw}]


def test_chat_and_stream(sim, c):
    sim.on({"contains": "hi"}, {"reply": "hello there"})
    r = c.chat("sim-chat", say("hi"))
    assert r.message.content == "hello there" and r.done and r.done_reason == "stop" and r.model == "sim-chat"
    assert (
        r.total_duration > 0 and r.prompt_eval_count > 0 and r.eval_count > 0 and r.created_at.endswith("Z")
    )
    parts = list(c.chat("sim-chat:latest", say("hi"), stream=True))
    assert "".join(p.message.content for p in parts) == "hello there"
    assert [p.done for p in parts] == [False] * (len(parts) - 1) + [True] and parts[0].total_duration is None
    rec = sim.calls("chat")
    assert len(rec) == 2 and rec[1]["body"]["stream"] is True and rec[1]["reply"] == "hello there"


def test_raw_ndjson_fields(sim):
    lines = (
        httpx.post(sim.url + "/api/chat", json={"model": "sim-chat", "messages": say("x")})
        .text.strip()
        .split("\n")
    )
    first, last = json.loads(lines[0]), json.loads(lines[-1])
    assert list(first) == ["model", "created_at", "message", "done"]
    assert list(last) == [
        "model",
        "created_at",
        "message",
        "done",
        "done_reason",
        "total_duration",
        "load_duration",
        "prompt_eval_count",
        "prompt_eval_duration",
        "eval_count",
        "eval_duration",
    ]


def get_time(tz: str) -> str:
    """Current time.

    Args:
      tz: zone
    """
    return "12:00"


def test_tools(sim, c):
    sim.on(
        {"has_tools": True, "last_role": "user"},
        {"tool_calls": [{"name": "get_time", "arguments": {"tz": "UTC", "n": 3}}]},
        times=1,
    )
    msgs = say("what time is it")
    r = c.chat("sim-chat", msgs, tools=[get_time])
    call = r.message.tool_calls[0]
    assert (
        call.function.name == "get_time"
        and call.function.arguments == {"tz": "UTC", "n": 3}
        and r.message.content == ""
    )
    msgs += [r.message, {"role": "tool", "tool_name": "get_time", "content": "12:00"}]
    assert c.chat("sim-chat", msgs, tools=[get_time]).message.content == "tool said: 12:00"
    sent = sim.calls("chat")[0]["body"]["tools"][0]["function"]
    assert sent["parameters"]["required"] == ["tz"]
    with pytest.raises(ResponseError, match="does not support tools") as e:
        c.chat("sim-plain", msgs, tools=[get_time])
    assert e.value.status_code == 400


def test_stream_tools(sim, c):
    sim.on(
        {},
        {
            "reply": "let me look",
            "tool_calls": [{"name": "a", "arguments": {}}, {"name": "b", "arguments": {"x": [1]}}],
        },
    )
    parts = list(c.chat("sim-chat", say("go"), tools=[get_time], stream=True))
    calls = [t for p in parts for t in p.message.tool_calls or []]
    assert [t.function.name for t in calls] == ["a", "b"] and "".join(
        p.message.content for p in parts
    ) == "let me look"


def test_format(sim, c):
    schema = {
        "type": "object",
        "properties": {"facts": {"type": "array", "items": {"type": "string"}}},
        "required": ["facts"],
    }
    assert json.loads(c.chat("sim-chat", say("x"), format=schema).message.content) == {"facts": []}
    sim.on({"has_format": True}, {"json": {"facts": ["likes tea"]}})
    assert json.loads(c.chat("sim-chat", say("x"), format=schema).message.content) == {"facts": ["likes tea"]}
    with pytest.raises(ResponseError, match="invalid format"):
        httpx_err(sim, {"model": "sim-chat", "messages": say("x"), "format": "xml"})

    class Inner(BaseModel):
        n: int

    class Out(BaseModel):
        inner: Inner
        kind: str = "a"

    sim.rules.clear()
    Out.model_validate_json(c.chat("sim-chat", say("x"), format=Out.model_json_schema()).message.content)


def httpx_err(sim, body):
    r = httpx.post(sim.url + "/api/chat", json=body)
    raise ResponseError(r.text, r.status_code)


def test_embed(sim, c):
    a = c.embed("sim-embed", "hello world")
    assert (
        len(a.embeddings) == 1
        and len(a.embeddings[0]) == 384
        and abs(sum(x * x for x in a.embeddings[0]) - 1) < 1e-4
    )
    b = c.embed("sim-embed", ["hello world", "something else entirely"])
    assert b.embeddings[0] == a.embeddings[0]

    def dot(x, y):
        return sum(i * j for i, j in zip(x, y, strict=True))

    near = c.embed("sim-embed", "hello big world").embeddings[0]
    assert dot(near, a.embeddings[0]) > dot(b.embeddings[1], a.embeddings[0]) + 0.2
    assert c.embed("sim-embed", "").embeddings == [] and c.embed("sim-embed", []).embeddings == []
    assert len(c.embed("sim-embed-768", ["a"] * 70).embeddings) == 70
    assert len(c.embed("sim-embed-768", "a", dimensions=64).embeddings[0]) == 64
    long = "word " * 4000
    assert c.embed("sim-embed", long).prompt_eval_count == 512
    with pytest.raises(ResponseError, match="exceeds the context length") as e:
        c.embed("sim-embed", long, truncate=False)
    assert e.value.status_code == 400
    with pytest.raises(ResponseError, match="try pulling it first") as e:
        c.embed("nope", "x")
    assert e.value.status_code == 404
    for i, want in ((1, {"dims": 12}), (2, {"count_delta": -1}), (3, {"zero": True})):
        sim.on({"endpoint": "^embed$"}, {"embeddings": want}, times=1)
        r = c.embed("sim-embed", ["a", "b"]).embeddings
        assert (len(r[0]) == 12, len(r) == 1, r[0] == [0.0] * 384)[i - 1]
    assert len(c.embeddings("sim-embed", "x").embedding) == 384
    with pytest.raises(ResponseError, match='"sim-embed" does not support chat'):
        c.chat("sim-embed", say("x"))
    assert hash_embed("a", 5) == hash_embed("a", 5)


def test_models(sim, c):
    names = [m.model for m in c.list().models]
    assert "sim-chat:latest" in names and all(":" in n for n in names)
    assert c.show("sim-vision").capabilities == ["completion", "vision", "tools"]
    info = c.show("sim-embed").modelinfo
    assert info["bert.embedding_length"] == 384 and info["bert.context_length"] == 512
    with pytest.raises(ResponseError, match="model 'nope:latest' not found") as e:
        c.show("nope")
    assert e.value.status_code == 404
    with pytest.raises(ResponseError, match="model 'Nope' not found"):
        c.chat("Nope", say("x"))
    assert c.chat("SIM-CHAT", say("x")).done  # names are case-insensitive
    c.copy("sim-chat", "mine")
    assert c.chat("mine", say("x")).model == "mine"
    c.delete("mine")
    with pytest.raises(ResponseError):
        c.delete("mine")
    assert [p.status for p in c.pull("sim-chat", stream=True)][-1] == "success"
    with pytest.raises(ResponseError, match="file does not exist"):
        list(c.pull("nope", stream=True))


def test_errors_and_broken_streams(sim, c):
    sim.on(
        {"contains": "boom"}, {"status": 500, "error": "llama runner process has terminated: exit status 2"}
    )
    with pytest.raises(ResponseError, match="terminated") as e:
        c.chat("sim-chat", say("boom"))
    assert e.value.status_code == 500
    with pytest.raises(ResponseError) as e:
        list(c.chat("sim-chat", say("boom"), stream=True))
    assert e.value.status_code == 500
    sim.on({"contains": "half"}, {"reply": "a" * 40, "error_after": 3})
    got = []
    stream = c.chat("sim-chat", say("half"), stream=True)
    with pytest.raises(ResponseError) as e:
        got.extend(p.message.content for p in stream)
    assert got == ["aaaa"] * 3 and e.value.status_code == -1
    sim.on({"contains": "cut"}, {"reply": "a" * 40, "drop_after": 2})
    with pytest.raises(httpx.RemoteProtocolError):
        list(c.chat("sim-chat", say("cut"), stream=True))
    sim.on({"contains": "garble"}, {"reply": "a" * 40, "malformed_after": 2})
    with pytest.raises(json.JSONDecodeError):
        list(c.chat("sim-chat", say("garble"), stream=True))
    sim.on({"contains": "silent"}, {"reply": "ab", "no_done": True})
    assert not any(p.done for p in c.chat("sim-chat", say("silent"), stream=True))
    sim.on(
        {"contains": "proxy"},
        {"raw_status": 502, "raw_body": "<html>bad gateway</html>", "raw_type": "text/html"},
    )
    with pytest.raises(ResponseError) as e:
        c.chat("sim-chat", say("proxy"))
    assert e.value.status_code == 502 and "<html>" in e.value.error
    sim.on({"contains": "badjson"}, {"raw_body": '{"model": '})
    with pytest.raises(json.JSONDecodeError):
        c.chat("sim-chat", say("badjson"))
    sim.on({"contains": "hang"}, {"hang": True})
    with pytest.raises(httpx.ReadTimeout):
        Client(host=sim.url, timeout=0.3).chat("sim-chat", say("hang"))
    with pytest.raises(ConnectionError):
        Client(host="http://127.0.0.1:1").chat("sim-chat", say("x"))
    with pytest.raises(httpx.ConnectError):  # the streaming path does not wrap it
        list(Client(host="http://127.0.0.1:1").chat("sim-chat", say("x"), stream=True))
    assert c.chat("sim-chat", say('[[sim {"reply":"inline"}]]')).message.content == "inline"


def test_raw_status(sim):
    def p(path, **k):
        return httpx.post(sim.url + path, **k)

    assert (r := p("/api/chat", content=b"")).status_code == 400 and r.json() == {
        "error": "missing request body"
    }
    assert p("/api/chat", content=b"{bad").status_code == 400
    assert p("/api/chat", json={"model": ""}).json() == {"error": "model is required"}
    assert (r := p("/api/x", json={})).status_code == 404 and r.text == "404 page not found"
    assert (r := httpx.get(sim.url + "/api/chat")).status_code == 405 and r.text == "405 method not allowed"
    assert (
        httpx.get(sim.url).text == "Ollama is running"
        and httpx.head(sim.url + "/api/version").status_code == 200
    )
    assert p("/api/embed", json={"model": "sim-embed", "input": [1]}).json() == {
        "error": "invalid input type"
    }
    assert (
        p("/api/chat", json={"model": "sim-chat", "messages": [], "keep_alive": 0}).json()["done_reason"]
        == "unload"
    )
    assert p("/api/chat", json={"model": "sim-chat", "messages": []}).json()["done_reason"] == "load"
    assert (
        p("/api/chat", json={"model": "sim-chat", "messages": say("x"), "keep_alive": "5x"}).status_code
        == 400
    )
    assert (
        p("/api/generate", json={"model": "sim-chat", "prompt": "x", "stream": False}).json()["response"]
        == "echo: x"
    )


def test_foreign_host_and_origin(sim):
    assert httpx.get(sim.url + "/api/tags", headers={"Host": "evil.example"}).status_code == 403
    assert httpx.get(sim.url + "/api/tags", headers={"Origin": "http://evil.example"}).status_code == 403
    assert httpx.get(sim.url + "/api/tags", headers={"Origin": "http://localhost:3000"}).status_code == 200


def test_context_truncation(sim, c):
    msgs = (
        [{"role": "system", "content": "SYS"}]
        + [
            {"role": "user" if i % 2 == 0 else "assistant", "content": f"old-{i} " + "pad " * 200}
            for i in range(40)
        ]
        + say("LAST")
    )
    r = c.chat("sim-chat", msgs)
    rec = sim.calls("chat")[-1]
    assert (
        rec["truncated"]
        and rec["num_ctx"] == 4096
        and 10 < rec["dropped"] < 40
        and r.prompt_eval_count <= 4096
    )
    sim.on({"any": "old-0 "}, {"reply": "I remember the start"})
    assert "remember" not in c.chat("sim-chat", msgs).message.content
    assert "remember" in c.chat("sim-chat", msgs, options={"num_ctx": 16384}).message.content
    r = c.chat("sim-chat", say("START " + "pad " * 20000 + "END"))
    assert r.prompt_eval_count == 4096 - (4096 - 4) // 2 == 2050 and "START" not in r.message.content
    with pytest.raises(ResponseError, match="exceeds the available context size") as e:
        c.chat("sim-native", say("pad " * 20000))
    assert (
        e.value.status_code == 400
        and json.loads(e.value.error)["error"]["type"] == "exceed_context_size_error"
    )
    q = httpx.post(
        sim.url + "/api/chat", json={"model": "sim-chat", "messages": say("pad " * 20000), "shift": False}
    )
    assert q.status_code == 400 and "longer than the context length" in q.json()["error"]
    assert c.chat("sim-chat", say("x"), options={"num_predict": 1}).done_reason == "length"


def test_keep_alive_load_queue(sim, c):
    sim.cfg.update(load_delay=0.2)
    assert c.chat("sim-chat", say("x")).load_duration >= 2e8
    assert c.chat("sim-chat", say("x")).load_duration < 1e8
    assert [m.model for m in c.ps().models] == ["sim-chat:latest"]
    assert (
        c.chat("sim-chat", say("x"), options={"num_ctx": 8192}).load_duration >= 2e8
    )  # other num_ctx: reload
    c.chat("sim-chat", say("x"), keep_alive=0, options={"num_ctx": 8192})
    assert c.ps().models == []
    c.chat("sim-chat", say("x"), keep_alive=0.1)
    time.sleep(0.25)
    assert c.ps().models == []
    assert (
        parse_keep_alive("1h30m") == 5400
        and parse_keep_alive(-1) > 1e8
        and parse_keep_alive("-1m") > 1e8
        and parse_keep_alive(None) == 300
    )


def test_parallel_and_503(sim):
    sim.cfg.update(load_delay=0.3, max_queue=2)

    async def go():
        cl = AsyncClient(host=sim.url)
        return await asyncio.gather(
            *(cl.chat("sim-chat", say("x")) for _ in range(6)), return_exceptions=True
        )

    res = asyncio.run(go())
    bad = [r for r in res if isinstance(r, ResponseError)]
    assert len(bad) == 4 and bad[0].status_code == 503 and "maximum pending requests exceeded" in bad[0].error
    sim.reset()
    sim.on({}, {"first_delay": 0.15})
    t = time.monotonic()

    async def go2():
        await asyncio.gather(*(AsyncClient(host=sim.url).chat("sim-chat", say("x")) for _ in range(4)))

    asyncio.run(go2())
    assert time.monotonic() - t > 0.55  # num_parallel 1: one after another


def test_client_disconnect(sim):
    sim.on({}, {"reply": "a" * 400, "token_delay": 0.02})
    with httpx.stream("POST", sim.url + "/api/chat", json={"model": "sim-chat", "messages": say("x")}) as r:
        next(r.iter_lines())
    time.sleep(0.3)
    assert sim.calls("chat")[-1].get("client_gone") and sim.active == 0


def test_thinking(sim, c):
    sim.on({}, {"thinking": "let me think", "reply": "42"})
    r = c.chat("sim-think", say("x"), think=True)
    assert r.message.thinking == "let me think" and r.message.content == "42"
    assert c.chat("sim-think", say("x")).message.thinking  # on by default
    assert c.chat("sim-think", say("x"), think=False).message.thinking is None
    parts = list(c.chat("sim-think", say("x"), think="low", stream=True))
    assert "".join(p.message.thinking or "" for p in parts) == "let me think"
    with pytest.raises(ResponseError, match='"sim-chat" does not support thinking'):
        c.chat("sim-chat", say("x"), think=True)


def test_vision(sim, c):
    assert "[1 image(s)]" in c.chat("sim-vision", say("what is it", images=[PNG])).message.content
    assert base64.b64decode(sim.calls("chat")[0]["body"]["messages"][0]["images"][0]) == PNG


def test_control_api(sim, c):
    h = httpx.Client(base_url=sim.url)
    h.post(
        "/__sim/rules",
        json=[
            {"match": {"contains": "a"}, "action": {"reply": "one"}, "times": 1},
            {"action": {"reply": "two"}},
        ],
    )
    assert [c.chat("sim-chat", say("a")).message.content for _ in range(2)] == ["one", "two"]
    assert len(h.get("/__sim/requests", params={"endpoint": "chat"}).json()) == 2
    h.put(
        "/__sim/models/tiny:1b", json={"capabilities": ["embedding"], "embedding_length": 7, "family": "bert"}
    )
    assert len(c.embed("tiny:1b", "x").embeddings[0]) == 7
    h.patch("/__sim/settings", json={"version": "9.9.9"})
    assert h.get("/api/version").json() == {"version": "9.9.9"}
    h.delete("/__sim/models/tiny:1b")
    h.post("/__sim/reset")
    assert h.get("/__sim/requests").json() == [] and h.get("/api/version").json() != {"version": "9.9.9"}


def test_async_client(sim):
    async def go():
        a = AsyncClient(host=sim.url)
        out = [p.message.content async for p in await a.chat("sim-chat", say("yo"), stream=True)]
        assert "".join(out) == "echo: yo"
        assert len((await a.embed("sim-embed", ["a", "b"])).embeddings) == 2

    asyncio.run(go())


def test_openai_routes(sim):
    h = httpx.Client(base_url=sim.url + "/v1", headers={"Authorization": "Bearer k"})

    def chat(**kw):
        return h.post("/chat/completions", json={"model": "sim-chat", "messages": say("hey"), **kw})

    assert "sim-chat:latest" in [m["id"] for m in h.get("/models").json()["data"]]
    r = chat().json()
    assert r["choices"][0]["message"]["content"] == "echo: hey" and r["usage"]["total_tokens"] > 0
    lines = [x.removeprefix("data: ") for x in chat(stream=True).text.split("\n") if x]
    assert lines.pop() == "[DONE]"
    assert "".join(json.loads(x)["choices"][0]["delta"]["content"] for x in lines) == "echo: hey"
    sim.on({"endpoint": "v1_chat", "has_tools": True}, {"tool_calls": [{"name": "f", "arguments": {"x": 1}}]})
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    choice = chat(tools=[tool]).json()["choices"][0]
    assert json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]) == {"x": 1}
    assert choice["finish_reason"] == "tool_calls"
    v = h.post("/embeddings", json={"model": "sim-embed", "input": ["a", "b"]}).json()["data"]
    assert len(v) == 2 and len(v[0]["embedding"]) == 384
    r = h.post("/embeddings", json={"model": "sim-embed", "input": "a", "encoding_format": "base64"}).json()
    assert len(base64.b64decode(r["data"][0]["embedding"])) == 4 * 384
    assert chat(model="nope").status_code == 404
    assert sim.calls("v1_chat")[0]["headers"]["Authorization"] == "Bearer k"


def test_own_process(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with OllamaSim.start("--chunk-chars", "2") as sim:
        c = Client(host=sim.url, timeout=20)
        sim.on({"contains": "hi"}, {"reply": "second"})
        sim.on({"contains": "hi"}, {"reply": "first"}, times=1, front=True)
        assert [c.chat("sim-chat", say("hi")).message.content for _ in range(2)] == ["first", "second"]
        assert [x["reply"] for x in sim.calls("chat")] == ["first", "second"] and sim.calls("embed") == []
        assert [r["hits"] for r in sim.rules] == [1, 1] and sim.state()["loaded"] == ["sim-chat:latest"]
        assert sim.settings()["chunk_chars"] == 2 and sim.settings(version="9")["version"] == "9"
        sim.add_model("tiny:1b", capabilities=["embedding"], embedding_length=7)
        assert (
            "tiny:1b" in [m["name"] for m in sim.models] and len(c.embed("tiny:1b", "x").embeddings[0]) == 7
        )
        sim.remove_model("tiny:1b")
        sim.clear_rules()
        sim.clear_calls()
        assert c.chat("sim-chat", say("hi")).message.content == "echo: hi" and len(sim.calls()) == 1
        assert OllamaSim.attach(sim.url).state()["requests"] == 1
        sim.reset()
        assert sim.calls() == [] and sim.settings()["version"] != "9"
        proc = sim.proc
    assert proc.poll() is not None
