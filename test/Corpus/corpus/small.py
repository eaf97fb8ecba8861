"""The layers at sizes for which plain loops are quick; all their features are in use."""

from . import LAYERS
from .rope import Yarn

_GROUPED = {"hidden": 48, "query_heads": 6, "kv_heads": 2, "head_dim": 8}
_LATENT = {
    "hidden": 48,
    "query_heads": 3,
    "latent": 24,
    "rotary": 8,
    "key_width": 12,
    "value_width": 6,
    "yarn": Yarn(factor=4.0, original_tokens=64, strength=0.7, score_strength=1.2),
}

#: By the name of the layer: what differs from the model's sizes.
SIZES = {
    "grouped": _GROUPED,
    "llama-3-8b": _GROUPED,
    "mistral-7b": {**_GROUPED, "window": 3},
    "qwen2.5-7b": {**_GROUPED, "query_heads": 14},
    "qwen3-8b": _GROUPED,
    "gemma-2-9b": {**_GROUPED, "score_width": 16, "softcap": 1.0, "capacity": 32},
    "gpt-oss-20b": {
        **_GROUPED,
        "yarn": Yarn(factor=4.0, original_tokens=64, whole_pairs=False),
        "window": 4,
    },
    "deepseek-v2-lite": _LATENT,
    "deepseek-v3": {**_LATENT, "query_latent": 10},
}


def small(name, dtype):
    """Returns the layer of the given name, small."""
    layer = next(layer for layer in LAYERS if layer.name == name)
    return layer(dtype=dtype, **SIZES[name])
