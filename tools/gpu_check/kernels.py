"""kvc's kernels against NumPy in float64, and bit for bit against the emulator.

By the code of the project's tests: problems, memories and tolerances.
"""

from dataclasses import dataclass

import numpy as np

import kvc
import kvc.dtypes
import problems
import reference
from gpu_check.cases import CASES, Layer, Merge, Quantized
from gpu_check.codes import CodesBatch
from gpu_check.layers import LayerBatch
from kvc._kvc import Compiled

#: Rows of a batch that are compared, if it has more tokens: the first and last of each
#: sequence, and others.
_MOST_ROWS = 64


class Side:
    """A device with a stream, and the programs of a pack there.

    Parameters
    ----------
    kind : str
        As kvc.Device takes it.
    """

    def __init__(self, kind, folder):
        self.stream = kvc.Stream(device=kvc.Device(kind))
        self.folder = folder
        self._programs = {}

    def load(self, entry):
        """Returns a program of the manifest, whose code stays on the device."""
        if entry["name"] not in self._programs:
            packed = Compiled(self.folder / entry["library"], entry["query"])
            self._programs[entry["name"]] = kvc.Program(packed)
        return self._programs[entry["name"]]


@dataclass
class Row:
    """A line of the table: a program and a batch."""

    family: str
    program: str
    batch: str
    status: str  # pass, fail, left out
    error: float = 0.0  # worst relative error of a row
    emulator: str = "-"  # how its results differ
    text: str = ""

    def as_dict(self):
        return dict(self.__dict__)


def chosen_cases(manifest):
    """Yields the cases that a pack has, with their entries."""
    entries = {entry["name"]: entry for entry in manifest["programs"]}
    return [(case, entries[case.name]) for case in CASES if case.name in entries]


def _short(lens):
    text = ",".join(map(str, lens)) or "none"
    return text if len(text) <= 24 else text[:20] + " ..."


# --- One batch ----------------------------------------------------------------


def check_unowned(problem, memory):
    """Compares what no sequence owns with the NaN that was there."""
    view = memory.pool.view()
    slots = [sequence.slots() for sequence in memory.sequences]
    owned = np.concatenate([np.zeros(0, np.int64), *slots])
    for name, *_ in problem.config.components:
        content = view.memory(name)
        rows = content.reshape(-1, *content.shape[2:])
        free = np.delete(rows, owned, axis=0).astype(np.float32)
        assert np.isnan(free).all(), f"memory of '{name}' that nobody owns was written"


class AttentionBatch:
    """A batch of an attention."""

    def __init__(self, case, batch):
        self.case, self.batch = case, batch
        # One as a padded table of pages, the others in rows of their own lengths.
        self.is_padded = batch is case.batches[1]
        self.problem = problems.Problem(
            case.config, list(batch.kv_lens), list(batch.query_lens), seed=len(case.name)
        )
        self.is_long = batch.is_long

    def __str__(self):
        return f"{_short(self.batch.kv_lens)} / {_short(self.batch.query_lens)}"

    def run(self, side, program):
        """Returns output and log-sum-exp, after checks of the cache."""
        function, problem = program["attend"], self.problem
        memory = problems.place(function, problem, "nan", side.stream)
        is_padded = self.is_padded and not self.case.config.foreign
        others = {"batch": memory.raw_batch()} if is_padded else {}
        results = problems.run(function, problem, stream=side.stream, memory=memory, **others)
        problems.check_cache(problem, memory)
        if not self.case.config.foreign:
            check_unowned(problem, memory)
        if self.case.config.deterministic:
            self._check_alone(side, function, results)
        return results

    def _check_alone(self, side, function, results):
        """Compares bits with those of each sequence by itself, if its phase is the same."""
        is_decode = max(self.batch.query_lens, default=0) <= 1
        for index, query_len in enumerate(self.batch.query_lens):
            if (query_len <= 1) != is_decode:
                continue
            alone = problems.run(function, self.problem.subset([index]), stream=side.stream)
            rows = self.problem.rows_of([index])
            same = all(
                problems.same_bits(a, b[rows]) for a, b in zip(alone, results) if a is not None
            )
            assert same, f"sequence {index} alone gives other bits"

    def check(self, results):
        """Compares with NumPy; returns the worst row's error."""
        problem, rows = self.problem, None
        if sum(problem.query_lens) > _MOST_ROWS:
            rows = reference.sampled_rows(problem.query_lens, _MOST_ROWS)
        want, want_lse = problem.want(rows)
        chosen = slice(None) if rows is None else rows
        out, lse = results
        reference.check_rows(out[chosen], want, problem.config.out_dtype)
        if lse is not None:
            reference.check_lse(lse[chosen], want_lse)
        return reference.relative_error(out[chosen], want)


class MergeBatch:
    """Parts of some tokens that are merged."""

    is_long = False

    def __init__(self, case, tokens):
        self.case, self.tokens = case, tokens
        rng, element = np.random.default_rng(tokens), kvc.dtypes.to_numpy(case.dtype)
        shape = case.parts, tokens, case.heads, case.width
        self.outputs = rng.standard_normal(shape).astype(element)
        self.lses = rng.standard_normal(shape[:3]).astype(np.float32)
        self.lses[0, ::2] = -np.inf  # empty parts, whose output is anything
        self.outputs[0, ::2] = np.nan
        self.sinks = rng.standard_normal(case.heads).astype(np.float32) if case.sinks else None

    def __str__(self):
        return f"{self.tokens} tokens"

    def run(self, side, program):
        out, lse = np.empty_like(self.outputs[0]), np.empty_like(self.lses[0])
        sinks = [] if self.sinks is None else [self.sinks]
        program["merge"](*self.outputs, *self.lses, *sinks, out=(out, lse), stream=side.stream)
        return out, lse

    def check(self, results):
        want, want_lse = reference.merge(list(self.outputs), list(self.lses), self.sinks)
        reference.check_rows(results[0], want, self.case.dtype)
        reference.check_lse(results[1], want_lse)
        return reference.relative_error(results[0], want)


def batches_of(case, entry, folder, is_long):
    """Returns functions that make the batches of a case, long ones or the others."""
    if isinstance(case, Layer):
        return [] if is_long else [lambda: LayerBatch(folder / entry["data"])]
    if isinstance(case, Merge):
        return [] if is_long else [lambda n=n: MergeBatch(case, n) for n in case.tokens]
    kind = CodesBatch if isinstance(case, Quantized) else AttentionBatch
    return [lambda b=b: kind(case, b) for b in case.batches if b.is_long == is_long]


# --- All of them -----------------------------------------------------------------


def compare_bits(one, other):
    """Says how results of two devices differ."""
    pairs = [(a, b) for a, b in zip(one, other) if a is not None]
    if all(problems.same_bits(a, b) for a, b in pairs):
        return "same bits"
    a, b = (values.astype(np.float32) for values in pairs[0])
    with np.errstate(invalid="ignore"):
        difference = np.nan_to_num(np.abs(a - b))
    share = (difference > 0).mean() if difference.size else 0.0
    return f"{100 * share:.2f}% differ, by {difference.max(initial=0):.1e} at most"


def _check_batch(case, make, sides, programs):
    row = Row(case.family, case.name, "", "pass")
    try:
        batch = make()
        row.batch = str(batch)
        results = batch.run(sides[0], programs[0])
        row.error = batch.check(results)
        if len(sides) > 1 and batch.is_long:
            row.emulator = "too long"
        elif len(sides) > 1:
            emulated = batch.run(sides[1], programs[1])
            row.emulator = compare_bits(results, emulated)
            batch.check(emulated)
    except (AssertionError, kvc.Error) as error:
        row.status, row.text = "fail", str(error)
    return row


def check_case(case, entry, sides, is_long, out_of_time):
    """Yields a Row for each batch of a case, of the long ones or the others."""
    makers = batches_of(case, entry, sides[0].folder, is_long)
    try:
        programs = [side.load(entry) for side in sides if makers]
    except (kvc.Error, OSError) as error:
        yield Row(case.family, case.name, "none", "fail", text=str(error))
        return
    for make in makers:
        if out_of_time():
            yield Row(case.family, case.name, "?", "left out", text="no time left")
        else:
            yield _check_batch(case, make, sides, programs)


def check_all(manifest, sides, quick, out_of_time, say, keep):
    """Checks all cases with their short batches, then with the long ones; returns Rows.

    `keep` is called with all Rows so far, again and again.
    """
    rows = []
    for is_long in (False,) if quick else (False, True):
        for case, entry in chosen_cases(manifest):
            new = list(check_case(case, entry, sides, is_long, out_of_time))
            if new:
                passed = sum(row.status == "pass" for row in new)
                what = "long batches" if is_long else "batches"
                say(f"kernels of {case.name}: {passed} of {len(new)} {what} pass")
            rows += new
            keep(rows)
    return rows
