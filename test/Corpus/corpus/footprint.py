"""What the layers cache, as the table of docs/Corpus.md."""

import re

from . import LAYERS
from .layer import BYTES


def written_bytes(layer, text):
    """Returns the bytes per token in the caches that @decode of the layer's text gives."""
    signature = text[text.index("@decode(") :].split("-> (")[1].split(") {")[0]
    total = 0
    for sizes, dtype in re.findall(r"tensor<([\dx?]+)x(\w+)> \{kvc\.cache", signature):
        sizes = sizes.split("x")
        del sizes[layer.token_axis], sizes[0]  # a token of a sequence
        count = 1
        for size in sizes:
            count *= int(size)
        total += count * BYTES[dtype]
    return total


def table():
    """Returns the table's lines."""
    lines = ["| layer | caches as written | bytes | smallest | ratio |"]
    lines.append("| --- | --- | --- | --- | --- |")
    for make in LAYERS:
        layer = make()
        caches = "; ".join(
            f"{name}: {heads} x {width}" for name, (heads, width) in layer.widths().items()
        )
        written, smallest = written_bytes(layer, layer.text()), layer.smallest_bytes()
        ratio = f"{written / smallest:.3g}"
        lines.append(f"| `{layer.name}` | {caches} | {written:,} | {smallest:,} | {ratio} |")
    return lines
