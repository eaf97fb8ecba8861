"""Whole layers: what is around kvc's operations, and functions without any."""

import functools
import threading

import numpy as np
import pytest

import kvc
import kvc.dtypes
from layers import Layer, concat_attention
from reference import check_rows
from targets import CPUS, DEFINITIONS, DEVICES

TARGETS = [DEFINITIONS[0], CPUS[0], CPUS[-1], *DEVICES]
LAYERS = [
    Layer(),
    Layer(dtype="bf16"),
    Layer(dtype="f16", hidden=40, heads=3, kv_heads=3, width=8),
    Layer(hidden=7, heads=5, kv_heads=1, width=24),
]


@pytest.fixture(params=TARGETS, ids=str)
def target(request):
    return request.param


def layer_of(target):
    """Returns a layer that the target has: a GPU's are of 16 bits."""
    return LAYERS[1] if target.is_gpu else LAYERS[0]


class Run:
    """Sequences that grow in a pool, and what they consist of."""

    def __init__(self, layer, function, sequences, seed=0):
        self.layer, self.function = layer, function
        self.weights = layer.weights()
        self.rng = np.random.default_rng(seed)
        self.pool = kvc.Pool(function.cache_type, num_pages=64)
        self.sequences = [self.pool.sequence() for _ in range(sequences)]
        self.histories = [layer.tokens(self.rng, 0) for _ in range(sequences)]

    def arguments(self, query_lens):
        for sequence, count in zip(self.sequences, query_lens):
            sequence.append(count)
        batch = kvc.Batch.from_sequences(self.sequences, query_lens, self.pool)
        new = [self.layer.tokens(self.rng, count) for count in query_lens]
        self.histories = [np.concatenate(pair) for pair in zip(self.histories, new)]
        return [np.concatenate(new), *self.weights, self.pool.view(), batch]

    def step(self, query_lens, **others):
        given = self.arguments(query_lens)
        got = self.function(*given, **others)
        want = self.layer.expect(self.histories, query_lens, self.weights)
        check_rows(got, want, self.layer.dtype)


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: f"{layer.dtype}-{layer.hidden}")
def test_layer(programs, target, stream_of, layer):
    if target.is_gpu and layer.dtype == "f32":
        with pytest.raises(kvc.CompileError, match="has no GPU kernel for component"):
            programs(layer.text, target)
        return
    function = programs(layer.text, target)["layer"]
    run = Run(layer, function, sequences=3)
    for query_lens in [[5, 0, 17], [1, 1, 1], [0, 0, 0], [3, 29, 2], [0, 1, 0]]:
        run.step(query_lens, stream=stream_of(target))
    nothing = kvc.Batch.from_sequences([], [], run.pool)
    arguments = [layer.tokens(run.rng, 0), *run.weights, run.pool.view(), nothing]
    got = function(*arguments, stream=stream_of(target))
    assert got.shape == (0, layer.hidden)


def test_token_rows(programs, target):
    function = programs(layer_of(target).text, target)["layer"]
    assert [a.rows_are_tokens for a in function.args] == [True] + [False] * 7
    assert [a.rows_are_tokens for a in function.results] == [True]


def test_layer_in_two_threads(programs, target, stream_of):
    function = programs(layer_of(target).text, target)["layer"]
    device = kvc.Device(target.device)
    new = (lambda: kvc.Stream(device=device)) if target.is_gpu else (lambda: kvc.Stream(2))
    shared = new()
    failures = []

    def work(seed, stream):
        try:
            run = Run(layer_of(target), function, sequences=2, seed=seed)
            for query_lens in [[9, 3], [1, 1], [1, 1], [4, 0]]:
                run.step(query_lens, stream=stream)
        except Exception as error:  # for the main thread to raise
            failures.append(error)

    for streams in [(shared, shared), (new(), new())]:
        threads = [
            threading.Thread(target=work, args=pair) for pair in enumerate(streams)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures


def test_layer_refuses(programs, target, stream_of):
    function = programs(layer_of(target).text, target)["layer"]
    run = Run(layer_of(target), function, sequences=2)
    given = run.arguments([3, 2])

    def refused(index, array, match):
        changed = list(given)
        changed[index] = array
        with pytest.raises(kvc.Error, match=match) as caught:
            function(*changed, stream=stream_of(target))
        assert caught.value.status == kvc.Status.INVALID_ARGUMENT

    rows = "(a row for each of the 5 tokens|as many rows as the batch has new tokens)"
    refused(0, given[0][:4], f"expected.* {rows}")
    refused(0, given[0][:, :64], "argument 0: expected dimension 1 to be 128, got 64")
    refused(2, given[2][:, :64], "argument 2: expected dimension 1 to be 128, got 64")
    dtype = run.layer.dtype
    refused(5, given[5].astype(np.float64), f"argument 5: expected elements of {dtype}, got f64")
    out = run.layer.cast(np.full((6, 128), 7))
    with pytest.raises(kvc.Error, match="expected a row for each of the 5 tokens"):
        function(*given, out=out, stream=stream_of(target))
    assert (out == 7).all()


@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16", "f16"])
def test_concat_attention(programs, target, stream_of, dtype):
    if target.is_gpu and dtype == "f64":
        with pytest.raises(kvc.CompileError, match="no GPU kernel for 'math.exp' of 'f64'"):
            programs(concat_attention(dtype, 3, 20), target)
        return
    heads, width = 3, 20
    step = programs(concat_attention(dtype, heads, width), target)["step"]
    rng = np.random.default_rng(0)

    def rows(count):
        values = rng.standard_normal((count, heads, width))
        return values.astype(kvc.dtypes.to_numpy(dtype))

    keys, values = rows(0), rows(0)
    for tokens in [5, 1, 0, 1, 13]:
        q, k, v = rows(tokens), rows(tokens), rows(tokens)
        out, new_keys, new_values = step(q, k, v, keys, values, stream=stream_of(target))
        keys, values = np.concatenate([keys, k]), np.concatenate([values, v])
        assert (new_keys == keys).all() and (new_values == values).all()
        scores = np.einsum("ihw,jhw->hij", q.astype(np.float64), keys.astype(np.float64))
        weights = np.exp(scores / np.sqrt(width))
        weights /= weights.sum(axis=2, keepdims=True)
        want = np.einsum("hij,jhw->ihw", weights, values.astype(np.float64))
        check_rows(out, want, dtype)


def test_concat_attention_refuses(programs, target, stream_of):
    function = programs(concat_attention("f32", 3, 20), target)["step"]
    step = functools.partial(function, stream=stream_of(target))
    rows = [np.zeros((count, 3, 20), np.float32) for count in (2, 2, 3, 4, 4)]
    message = "expected the sizes that the operands have in common to be equal"
    with pytest.raises(kvc.Error, match=message) as caught:
        step(*rows)  # other numbers of keys and values
    assert caught.value.status == kvc.Status.INVALID_ARGUMENT
    rows[2] = rows[1]
    with pytest.raises(kvc.Error, match="expected result 1 to have the shape that follows"):
        step(*rows, out=(None, np.zeros((5, 3, 20), np.float32), None))
    # What does not fit into memory is an error, too.
    huge = np.broadcast_to(np.float32(0), (1 << 40, 3, 20))
    with pytest.raises(kvc.Error) as caught:
        step(huge, *rows[1:], out=(np.zeros((1, 3, 20), np.float32), None, None))
    assert caught.value.status != kvc.Status.OK
