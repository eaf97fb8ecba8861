"""Whole layers, from a model's own code to caches in pages, against what a pack knows of them.

A pack holds the inputs and, in float64, the outputs: see pack_layers.py.
"""

import numpy as np

import kvc
import kvc.dtypes

#: Largest L2 error of a row of bf16, relative to its norm.
_BOUND = 2e-2


class LayerBatch:
    """Prompts one by one, then steps of all sequences together."""

    is_long = False

    def __init__(self, path):
        data = np.load(path)
        element = kvc.dtypes.to_numpy("bf16")
        self.prompts = list(data["prompts"])
        self.weights = [data[name].view(element) for name in sorted(data) if name[0] == "w"]
        self.tokens = [data[f"x{i}"].view(element) for i in range(len(self.prompts))]
        self.want = [data[f"y{i}"] for i in range(len(self.prompts))]

    def __str__(self):
        steps = self.tokens[0].shape[1] - self.prompts[0]
        return f"prompts of {','.join(map(str, self.prompts))}, {steps} steps"

    def run(self, side, program):
        """Returns the outputs of all sequences, as rows."""
        cache_type = program["decode"].cache_type
        pages = sum(-(-x.shape[1] // cache_type.page_size) for x in self.tokens)
        pool = kvc.Pool(cache_type, pages, device=side.stream.device)
        sequences = [pool.sequence() for _ in self.prompts]

        def call(name, tokens, sequences):
            for sequence in sequences:
                sequence.append(tokens.shape[1])
            batch = kvc.Batch.from_sequences(sequences, [tokens.shape[1]] * len(sequences))
            arguments = [np.ascontiguousarray(tokens), *self.weights, pool.view(), batch]
            return program[name](*arguments, stream=side.stream)

        outputs = [
            [call("prefill", x[:, :prompt], [sequence])]
            for x, sequence, prompt in zip(self.tokens, sequences, self.prompts)
        ]
        for step in range(self.tokens[0].shape[1] - self.prompts[0]):
            new = [x[:, at + step : at + step + 1] for x, at in zip(self.tokens, self.prompts)]
            for output, row in zip(outputs, call("decode", np.concatenate(new), sequences)):
                output.append(row[None])
        return (np.concatenate([np.concatenate(output, axis=1)[0] for output in outputs]),)

    def check(self, results):
        got = results[0].astype(np.float64)
        want = np.concatenate([y[0] for y in self.want])
        errors = np.linalg.norm(got - want, axis=1) / np.linalg.norm(want, axis=1)
        worst = float(errors.max())
        assert worst < _BOUND, f"output: relative L2 error {worst:.1e}, expected below {_BOUND}"
        return worst
