"""Wrong texts and wrong calls are refused with messages, and change nothing."""

import gc

import numpy as np
import pytest

import kvc
from problems import Memory, Problem, arguments, gqa, run, unwritten
from targets import CPUS, DEFINITIONS

CONFIG = gqa(append=True, sinks=True)


@pytest.fixture(params=DEFINITIONS[:1] + CPUS[:1], ids=str)
def function(request, attend):
    return attend(CONFIG, request.param)


@pytest.fixture
def problem():
    return Problem(CONFIG, [20, 7], [1, 2])


@pytest.fixture
def memory(problem, function):
    return Memory(problem, function.cache_type)


def refused(function, given, match, status=kvc.Status.INVALID_ARGUMENT, **others):
    """Checks that a call fails, with which words, and that it writes nothing."""
    out = others.pop("out", None) or (np.full((3, 4, 64), 7, np.float32),
                                      np.full((3, 4), 7, np.float32))  # fmt: skip
    with pytest.raises(kvc.Error, match=match) as caught:
        function(*given, out=out, **others)
    assert caught.value.status == status
    assert isinstance(caught.value, RuntimeError) and str(caught.value) == caught.value.message
    assert all((array == 7).all() for array in out)


# In the order of the arguments: query, key, value, cache, batch, sinks.
TENSORS = {
    "elements": (lambda q: q.astype(np.float16), "expected elements of f32, got f16"),
    "rank": (lambda q: q[0], "expected rank 3, got 2"),
    "heads": (lambda q: q[:, :3].copy(), "expected dimension 1 to be 4, got 3"),
    "width": (lambda q: q[:, :, :32], "expected dimension 2 to be 64, got 32"),
    "rows": (lambda q: q[:2], "expected a row for each of the 3 tokens"),
    "last stride": (lambda q: np.repeat(q, 2, 2)[:, :, ::2], "expected the stride of dimension 2"),
}


@pytest.mark.parametrize("what", TENSORS)
def test_wrong_tensor(function, problem, memory, what):
    change, message = TENSORS[what]
    given = arguments(problem, memory)
    given[0] = change(given[0])
    refused(function, given, f"'attend', argument 0: {message}")


def test_wrong_rows_of_a_new_key(function, problem, memory):
    given = arguments(problem, memory)
    given[1] = given[1][:1]
    refused(function, given, "argument 1: expected a row for each of the 3 tokens of the batch")


def test_wrong_sinks(function, problem, memory):
    given = arguments(problem, memory)
    given[-1] = given[-1][:3]
    refused(function, given, "argument 5: expected dimension 0 to be 4, got 3")


def test_wrong_number_of_arguments(function, problem, memory):
    given = arguments(problem, memory)
    refused(function, given[:-1], "'attend': expected 6 inputs, got 5")
    refused(function, given + given[:1], "'attend': expected 6 inputs, got 7")


def test_wrong_results(function, problem, memory):
    given = arguments(problem, memory)
    out = (np.full((3, 4, 64), 7, np.float32), np.full((3, 4), 7, np.float32))
    refused(function, given, "argument 6: expected elements of f32, got f16",
            out=(out[0].astype(np.float16), out[1]))  # fmt: skip
    refused(function, given, "argument 7: expected dimension 1 to be 4, got 5",
            out=(out[0], np.full((3, 5), 7, np.float32)))  # fmt: skip
    refused(function, given, "argument 6: expected a row for each of the 3 tokens",
            out=(np.full((2, 4, 64), 7, np.float32), out[1]))  # fmt: skip
    overlapping = np.lib.stride_tricks.as_strided(out[0], (3, 4, 64), (64 * 4, 64 * 4, 4))
    refused(function, given, "argument 6: expected the elements of a result to be distinct",
            out=(overlapping, out[1]))  # fmt: skip
    with pytest.raises(kvc.Error, match="expected 2 arrays in out, got 1"):
        function(*given, out=out[0])


def test_read_only_results_are_not_written(function, problem, memory):
    out = unwritten(problem)
    out[0].flags.writeable = False
    with pytest.raises(kvc.Error, match="result 0: expected an array to write"):
        function(*arguments(problem, memory), out=out)
    assert np.isnan(out[0]).all()


def test_wrong_kinds(function, problem, memory):
    given = arguments(problem, memory)
    swapped = [*given[:3], given[4], given[3], given[5]]
    refused(function, swapped, "'attend', argument 3: expected a cache, got a batch")
    with pytest.raises(TypeError, match="expected an array, a CacheView or a Batch, got list"):
        function([1.0], *given[1:])
    with pytest.raises(TypeError, match="expected elements of f32.*, got complex64"):
        function(given[0].astype(np.complex64), *given[1:])


@pytest.mark.parametrize(
    "other",
    [gqa(page=32), gqa(width=32), gqa(kv_heads=4), gqa(dtype="f16"), gqa(value_width=8)],
    ids=["page", "width", "heads", "elements", "value width"],
)
def test_cache_of_another_type(function, problem, memory, attend, other):
    target = DEFINITIONS[0]
    wrong = kvc.Pool(attend(other, target).cache_type, 64).view()
    given = arguments(problem, memory)
    given[3] = wrong
    refused(function, given, "argument 3: .*fingerprint", kvc.Status.MISMATCH)


def test_cache_of_another_layout(problem, attend):
    functions = {t.compile_options()["layout"]: attend(CONFIG, t) for t in DEFINITIONS}
    memory = Memory(problem, functions["packed"].cache_type)
    given = arguments(problem, memory)
    refused(functions["row_major"], given, "fingerprint", kvc.Status.MISMATCH)


BATCHES = {
    "query_start": ({"query_start": [1, 2, 3]}, "query_start\\[0\\] to be 0, got 1"),
    "decreasing": ({"query_start": [0, 4, 3]}, "query_start not to decrease|max_query_len"),
    "end": ({"query_start": [0, 1, 2], "positions": [0, 1, 2]}, "num_tokens \\(3\\), got 2"),
    "kv_lens": ({"kv_lens": [20, -1], "positions": [0, 1, 2]}, "kv_lens\\[1\\]"),
    "too long": ({"kv_lens": [20, 33], "positions": [0, 1, 2]}, "expected 3 page ids"),
    "max_kv_len": ({"max_kv_len": 19}, "kv_lens\\[0\\] from 0 to max_kv_len \\(19\\), got 20"),
    "max_query_len": ({"max_query_len": 1}, "at most max_query_len \\(1\\)"),
    "page": ({"page_ids": [[0, 1000], [1, -1]]}, "got 1000 for page 1"),
    "page -1": ({"page_ids": [[0, -1], [1, -1]]}, "got -1 for page 1"),
    "slot": ({"slots": [10**6, -1, -1]}, "slots\\[0\\] to be below"),
    "negative slot": ({"slots": [0, -2, -1]}, "slots\\[1\\] to be below .* got -2"),
    "page_start": (
        {"page_ids": [0, 1, 2], "page_start": [0, 2, 4]},
        "page_start to end at num_page_ids \\(3\\)",
    ),
    "num_tokens": ({"num_tokens": -1}, "num_tokens to be at least 0, got -1"),
}


@pytest.mark.parametrize("what", BATCHES)
def test_wrong_batch(function, problem, memory, what):
    changes, message = BATCHES[what]
    given = arguments(problem, memory, batch=memory.raw_batch(**changes))
    refused(function, given, f"argument 4: .*{message}")


def test_freed_sequences_and_full_pools(function):
    pool = kvc.Pool(function.cache_type, 3)
    sequence, other = pool.sequence(30), pool.sequence(5)
    with pytest.raises(kvc.Error, match="needs 1 more pages, but only 0 of 3") as caught:
        sequence.append(5)
    assert caught.value.status == kvc.Status.OUT_OF_MEMORY and len(sequence) == 30
    with pytest.raises(kvc.Error, match="only 0 of 3"):
        pool.sequence(1)
    sequence.free()
    for use in (lambda: len(sequence), lambda: sequence.append(1), sequence.free,
                lambda: sequence.pages,
                lambda: kvc.Batch.from_sequences([other, sequence], [1, 1])):  # fmt: skip
        with pytest.raises(kvc.Error, match="which was freed") as caught:
            use()
        assert caught.value.status == kvc.Status.NOT_FOUND
    with pytest.raises(kvc.Error, match="expected 0 to 5 new tokens, got 6"):
        kvc.Batch.from_sequences([other], [6])
    with pytest.raises(kvc.Error, match="each sequence once"):
        kvc.Batch.from_sequences([other, other], [1, 1])
    with pytest.raises(kvc.Error, match="as many query lengths as sequences"):
        kvc.Batch.from_sequences([other], [1, 1])
    stranger = kvc.Pool(function.cache_type, 3).sequence(1)
    with pytest.raises(kvc.Error, match="of this pool"):
        kvc.Batch.from_sequences([other, stranger], [1, 1])
    with pytest.raises(kvc.Error, match="expected a pool"):
        kvc.Batch.from_sequences([], [])
    assert pool.stats()["free_pages"] == 2 and pool.stats()["used_tokens"] == 5


def test_a_batch_from_before_an_append_is_a_snapshot(function):
    """Its length is the old one, whatever the sequence holds since."""
    problem = Problem(CONFIG, [20], [1])
    memory = Memory(problem, function.cache_type)
    before = run(function, problem, memory=memory)
    batch = memory.batch
    memory.sequences[0].append(10)
    after = run(function, problem, memory=memory, batch=batch)
    assert before[0].tobytes() == after[0].tobytes()
    # And its rows are those of its own tokens.
    newer = kvc.Batch.from_sequences(memory.sequences, [2])
    given = arguments(problem, memory, batch=newer)
    refused(function, given, "expected a row for each of the 2 tokens",
            out=(np.full((1, 4, 64), 7, np.float32), np.full((1, 4), 7, np.float32)))  # fmt: skip


def test_wrong_pools_and_streams(function):
    cache_type = function.cache_type
    for arguments_, message in (((0,), "num_pages from 1"), ((4, 0), "num_layers")):
        with pytest.raises(kvc.Error, match=message):
            kvc.Pool(cache_type, *arguments_)
    with pytest.raises(kvc.Error, match="layer from 0 to 1, got 2"):
        kvc.Pool(cache_type, 4, layers=2).view(2)
    with pytest.raises(kvc.Error):
        kvc.Stream(-1)
    component = kvc.Component("k", 2, 64, "bf16", "packed_key")
    with pytest.raises(kvc.Error, match="multiple of 16"):
        kvc.Pool(kvc.CacheType(8, [component]), 4)
    with pytest.raises(kvc.Error, match="at most 15 characters"):
        kvc.CacheType(8, [kvc.Component("a_very_long_name", 2, 64, "bf16")])


def test_wrong_arrays_of_a_view():
    cache_type = kvc.CacheType(4, [kvc.Component("k", 2, 8, "bf16")])
    good = np.zeros((3, 4, 2, 8), kvc.dtypes.to_numpy("bf16"))
    assert kvc.CacheView(cache_type, {"k": good}).num_pages == 3
    for array, error, message in (
        (good.astype(np.float32), TypeError, "expected elements of bf16, got float32"),
        (good[:, :3], ValueError, r"shape \(pages, 4, 2, 8\)"),
        (np.repeat(good, 2, -1)[..., ::2], ValueError, "contiguous rows"),
    ):
        with pytest.raises(error, match=message):
            kvc.CacheView(cache_type, {"k": array})
    with pytest.raises(KeyError):
        kvc.CacheView(cache_type, {"v": good})


def test_texts_that_do_not_compile(compiler):
    for text, message in (
        ("func.func @f(", "expected"),
        ("func.func @f() { return }\nfunc.func @f() { return }", "redefinition"),
        (gqa().text.replace("value(v)", "value(w)"), "w"),
        (gqa(page=0).text, "expected page size to be at least 1, got 0"),
        (gqa(window=4).text.replace("#kvc.causal, ", ""), "causal"),
    ):
        with pytest.raises(kvc.CompileError) as caught:
            compiler.compile(text, target="definition")
        assert message in caught.value.message
        assert any("error" in line for line in caught.value.messages)
    # The next text compiles as if nothing had been.
    assert list(compiler.compile(gqa().text, target="definition")) == ["attend"]


def test_options_that_do_not_exist(compiler):
    for options in ({"target": "tpu"}, {"emit": "exe"}):
        with pytest.raises(ValueError, match="expected (target|emit) of .*, got"):
            compiler.compile(gqa().text, **options)
    for options in (
        {"target": "definition", "precision": "f16"},
        {"target": "definition", "layout": "diagonal"},
        {"target": "cpu", "tier": "sse9"},
    ):
        with pytest.raises(kvc.CompileError) as caught:
            compiler.compile(gqa().text, **options)
        wrong = list(options.values())[-1]
        assert wrong in caught.value.message


def test_programs_outlive_their_compiler():
    problem = Problem(gqa(), [5], [1])
    compiler = kvc.Compiler()
    function = compiler.compile(gqa().text, target="definition")["attend"]
    before = run(function, problem)
    del compiler
    gc.collect()
    assert run(function, problem)[0].tobytes() == before[0].tobytes()
