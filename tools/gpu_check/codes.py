"""Appends and attention over quantised caches: what is stored, bit for bit, and attended."""

import numpy as np

import quantized
import reference


class CodesBatch:
    """A batch of a quantised cache: old tokens are appended at once, then the new ones."""

    def __init__(self, case, batch):
        self.case, self.batch, self.is_long = case, batch, batch.is_long
        self.data = quantized.Data(case.case, list(batch.kv_lens), seed=len(case.name))

    def __str__(self):
        return " / ".join(
            ",".join(map(str, lens)) or "none" for lens in (self.batch.kv_lens, self.batch.query_lens)
        )

    def run(self, side, program):
        """Returns output, log-sum-exp and counts, after checks of the cache."""
        query_lens = list(self.batch.query_lens)
        filled = quantized.fill(program["attend"], self.data, query_lens, side.stream)
        results, sequences, view = filled
        self._check_stored(sequences, view)
        return results

    def _check_stored(self, sequences, view):
        for name, stored, _ in self.case.case.components:
            suffixes = ("", ".scale", ".zero")
            for index, sequence in enumerate(sequences):
                if stored.is_quantized:
                    arrays = self.data.quantized(name, index)
                else:
                    arrays = (self.data.rows[name][index],)
                for suffix, want in zip(suffixes, arrays):
                    if want is None or (suffix and stored.static):
                        continue
                    memory = view.memory(name + suffix)
                    got = memory.reshape(-1, *memory.shape[2:])[sequence.slots()]
                    if not suffix and stored.element == "i4":
                        got = quantized.unpack(got)
                    same = got.tobytes() == np.ascontiguousarray(want).tobytes()
                    assert same, f"'{name}{suffix}' of sequence {index} has other bits"

    def check(self, results):
        """Compares with NumPy; returns the worst row's error."""
        out, lse, counts = results
        want, want_lse = self.data.want(list(self.batch.query_lens))
        reference.check_rows(out, want, self.case.case.dtype)
        reference.check_lse(lse, want_lse)
        assert not counts.any(), "an append counts what is not finite, and nothing is"
        return reference.relative_error(out, want)
