"""What a pack knows of the layers of test/Corpus: their texts, inputs and float64 outputs."""

import dataclasses

import numpy as np
from corpus.problem import draw_weight
from corpus.reference import REFERENCES
from corpus.small import small

_PROMPTS = (5, 1, 40)
_STEPS = 3
_GROUPED = {"query_heads": 8, "kv_heads": 2, "head_dim": 64}
_LATENT = {
    "query_heads": 16, "latent": 128, "rotary": 16, "key_width": 32, "value_width": 32,
}  # fmt: skip


def layer_of(name):
    """Returns a layer of the corpus, of 256 columns."""
    sizes = dict(_LATENT if name.startswith("deepseek") else _GROUPED)
    if name == "gemma-2-9b":
        sizes["capacity"] = 64
    return dataclasses.replace(small(name, "bf16"), hidden=256, **sizes)


def write_data(layer, path):
    """Draws weights and tokens, and keeps them with what the layer gives in float64."""
    rng = np.random.default_rng(0)
    weights = {name: draw_weight(layer, name, rng) for name in layer.weights()}
    exact = {name: weight.astype(np.float64) for name, weight in weights.items()}
    arrays = {"prompts": np.array(_PROMPTS)}
    for place, weight in enumerate(weights.values()):
        arrays[f"w{place:02}"] = weight.view(np.uint16)
    for place, prompt in enumerate(_PROMPTS):
        shape = 1, prompt + _STEPS, layer.hidden
        x = rng.standard_normal(shape).astype(weights["wo"].dtype)
        arrays[f"x{place}"] = x.view(np.uint16)
        arrays[f"y{place}"], _ = REFERENCES[layer.name](layer, exact, x.astype(np.float64))
    np.savez(path, **arrays)
