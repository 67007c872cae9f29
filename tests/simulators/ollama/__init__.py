"""An Ollama-compatible server for tests.

    from tests.simulators.ollama import OllamaSim, run_sim

    with OllamaSim.start() as sim:      # own process
        sim.on({"contains": "hi"}, {"reply": "hello"})
        ...  # sim.url
    with run_sim() as sim:              # a thread of this process
        ...

Two kinds of model live side by side: scripted ones (canned or rule-driven replies, failures, delays, broken
streams, deterministic hash embeddings of any dimension) and real ones behind a llama.cpp `llama-server` or a
real sentence embedder. The wire format (field names and order, NDJSON, status codes, error texts, context
truncation, capability checks, keep_alive) is that of Ollama 0.32.
"""

from .client import OllamaSim
from .models import Model
from .server import Sim, run_sim
from .values import parse_keep_alive
from .vectors import hash_embed

__all__ = ["Model", "OllamaSim", "Sim", "hash_embed", "parse_keep_alive", "run_sim"]
