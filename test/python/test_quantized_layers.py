"""Layers whose own code quantises what they cache: paged, they give the numbers as written."""

import numpy as np
import pytest

import kvc
import reference
from quantized_layers import (
    GROUP,
    HEADS,
    WIDTH,
    FakeInt8,
    Float8Tensor,
    Int4Group,
    Int8Token,
    QUANT_SCALES as SCALES,
    QuantCasts,
    layer,
)
from targets import CPUS, DEFINITIONS

SCHEMES = [Int8Token(), FakeInt8(), Float8Tensor(), Int4Group(), QuantCasts()]
# New tokens of each call, for all sequences of a batch.
STEPS = [5, 1, 1, 19, 1]


@pytest.mark.parametrize("target", [DEFINITIONS[0], CPUS[0], CPUS[-1]], ids=str)
@pytest.mark.parametrize("page", [8, 16])
@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: type(scheme).__name__)
def test_paged_is_as_written(scheme, page, target):
    program = kvc.Compiler().compile(
        layer(scheme), cache_page=page, **target.compile_options()
    )
    function = program["attend"]
    arrays = {
        f"{name}{suffix}": dtype for name in "kv" for suffix, dtype in scheme.arrays.items()
    }
    components = function.cache_type.components
    assert {c.name: c.dtype for c in components} == arrays
    sequences, count = 3, sum(STEPS)
    heads = HEADS * GROUP
    rng = np.random.default_rng(0)
    x = rng.standard_normal((sequences, heads + 2 * HEADS, count, WIDTH), dtype=np.float32)
    x[0, heads, 3] = 0  # a row of zeros
    x[1, heads:, 4] *= 8  # rows beyond the rest
    keys = scheme.numbers(x[:, heads : heads + HEADS], SCALES["k"])
    values = scheme.numbers(x[:, heads + HEADS :], SCALES["v"])

    pool = kvc.Pool(function.cache_type, num_pages=sequences * (count // 8 + 1), debug_fill=True)
    view = pool.view()
    for component in components:
        if component.layout == "static":
            view.memory(component.name)[...] = SCALES[component.name[0]]
    rows = [pool.sequence() for _ in range(sequences)]
    past = 0
    for step in STEPS:
        for sequence in rows:
            sequence.append(step)
        batch = kvc.Batch.from_sequences(rows, [step] * sequences)
        got = function(np.ascontiguousarray(x[:, :, past : past + step]), view, batch)
        past += step
        for i in range(sequences):
            query = x[i, :heads, past - step : past].transpose(1, 0, 2)
            key, value = (a[i, :, :past].transpose(1, 0, 2) for a in (keys, values))
            want, _ = reference.attention(
                [(query, [key])], [value], [step], scale=0.125, causal=True
            )
            own = got[i].reshape(heads, step, WIDTH).transpose(1, 0, 2)
            reference.check_rows(own, want, "f32")

