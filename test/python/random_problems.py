"""Random configurations on the CPU, the emulator and the definition, against float64.

Each seed draws one attention, its batch and how it is compiled. Run as a script it
goes through many seeds, shows how far it is, and closes with how many ran on each
target and how many were refused for what.

  PYTHONPATH=build/python build/venv/bin/python test/python/random_problems.py --count=2000
"""

import argparse
import collections
import os
import re
import sys
import time
from dataclasses import dataclass, replace
from unittest import mock

import numpy as np

import kvc
from emulated import POLICIES
from problems import (
    Config, Foreign, Problem, Rope, check, check_cache, place, run, same_bits,
)  # fmt: skip
from refusals import Refused, compile_or_refuse, gpu_refusal
from targets import CPUS, DEFINITIONS, DEVICES, Target

#: Multiply-adds of one problem, so that loops and emulator need less than a second.
MAX_WORK = 20_000_000
#: Share of the configurations that the GPU may refuse once it takes all it promises.
MAX_REFUSED = 0.3
WIDTHS = [8 * n for n in range(1, 19)] + [64, 64, 128, 128, 192, 256]
PAGES = [1, 2, 3, 5, 8, 16, 16, 16, 32, 64, 128, 256]
GROUPS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 48, 71, 128]
SPLITS = [0, 0, 16, 64, 64, 128, 256, 1000]


@dataclass(frozen=True)
class Case:
    """A problem, and how it is compiled and called."""

    seed: int
    problem: Problem
    batch: str  # sequences, table, or csr
    split: int
    order: str  # of the emulator

    @property
    def targets(self):
        """The definition in f64, a CPU target taken in turn, and the emulator if built."""
        exact = [t for t in DEFINITIONS if t.compile_options()["precision"] == "f64"]
        emulators = [t for t in DEVICES if t.is_emulator]
        return [exact[self.seed % len(exact)], CPUS[self.seed % len(CPUS)], *emulators[:1]]


# --- Drawing ----------------------------------------------------------------------


class Draw:
    """Draws from one seed."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def chance(self, probability):
        return bool(self.rng.random() < probability)

    def of(self, choices):
        return choices[int(self.rng.integers(len(choices)))]

    def between(self, low, high):
        return int(self.rng.integers(low, high + 1))


def draw_components(draw):
    """Returns components, terms, and the value: plain, latent, or of any widths and terms."""
    kind = draw.of(("plain", "plain", "any", "any", "latent"))
    dtype = draw.of(("bf16",) * 5 + ("f16",) * 5 + ("f32",))

    def element():
        return draw.of(("bf16", "f16", "f32")) if draw.chance(0.06) else dtype

    if kind == "latent":
        latent, rotary = draw.of(((512, 64), (256, 64), (128, 32), (64, 8)))
        components = (("c", 1, latent, element()), ("r", 1, rotary, element()))
        return components, ("c", "r"), "c", dtype
    heads = draw.between(1, 4)
    if kind == "plain":
        width = draw.of(WIDTHS)
        components = (("k", heads, width, element()), ("v", heads, width, element()))
        return components, ("k",), "v", dtype
    names = "abc"[: draw.between(1, 3)]
    terms = tuple((name, heads, draw.of(WIDTHS), element()) for name in names)
    if draw.chance(0.4):
        return terms, tuple(names), draw.of(names), dtype
    return (*terms, ("v", heads, draw.of(WIDTHS), element())), tuple(names), "v", dtype


def draw_config(draw):
    components, terms, value, dtype = draw_components(draw)
    heads = components[0][1]
    group = draw.of(GROUPS if heads == 1 else GROUPS[:9])
    query_dtype = draw.of(("bf16", "f16", "f32")) if draw.chance(0.06) else dtype
    out_dtype = "f32" if draw.chance(0.05) else query_dtype
    if draw.chance(0.04):
        out_dtype = draw.of(("bf16", "f16"))
    key_width = sum(width for name, _, width, _ in components if name in terms)
    # A sum of many large products has no five digits of its small differences in f32.
    scale = draw.of((None, None, 0.3 if key_width <= 144 else None, -0.05))
    causal = draw.chance(0.7)
    rope = None
    if draw.chance(0.3):
        term = draw.of(terms)
        width = next(w for n, _, w, _ in components if n == term)
        rotary = width if draw.chance(0.5) else 2 * draw.between(1, width // 2)
        rope = Rope(term, rotary, draw.of(("half", "interleaved")), draw.of((1e4, 5e5)))
        # What a turned query of 16 bits is rounded to may not be seen in f32.
        out_dtype = query_dtype
    return Config(
        query_heads=group * heads,
        components=components,
        terms=terms,
        value=value,
        page=draw.of(PAGES),
        query_dtype=query_dtype,
        out_dtype=out_dtype,
        scale=scale,
        causal=causal,
        window=draw.of((None, None, 1, 9, 70, 300)) if causal else None,
        softcap=draw.of((None, None, 2.5, 30.0)),
        # Without causal, scores grow with the length, and f32 has not the digits.
        alibi=causal and draw.chance(0.2),
        # A large sink shrinks a row below 6e-5, where f16 has not the bits left that
        # the bound asks for, however well it is rounded.
        sinks=draw.chance(0.4) and out_dtype != "f16",
        lse=draw.chance(0.6),
        deterministic=draw.chance(0.3),
        append=draw.chance(0.5),
        rope=rope,
    )


def draw_lens(draw):
    """Returns pairs of kv_len and query_len; the latter may be the larger one."""
    phase = draw.of(("decode", "decode", "prefill", "mixed"))
    lens = []
    for _ in range(draw.between(0 if phase == "mixed" else 1, 5)):
        kv_len = draw.between(200, 900) if draw.chance(0.15) else draw.between(0, 150)
        if phase == "decode":
            query_len = 1
        elif phase == "prefill" and draw.chance(0.4):
            query_len = kv_len
        else:
            query_len = draw.of((0, 1, 2, draw.between(0, 40), draw.between(0, 70)))
        lens.append((kv_len, query_len))
    return lens


def work(config, lens):
    """Returns the multiply-adds of a batch."""
    widths = sum(config.component(n)[1] for n in config.terms) + config.value_width
    return config.query_heads * widths * sum(kv * q for kv, q in lens)


def shorten(config, lens):
    """Returns lengths whose work is bounded; the longest are halved first."""
    while work(config, lens) > MAX_WORK:
        longest = max(range(len(lens)), key=lambda i: lens[i][0] * lens[i][1])
        kv_len, query_len = lens[longest]
        lens[longest] = (kv_len, query_len // 2) if query_len > 8 else (kv_len // 2, query_len)
    return lens


def draw_case(seed):
    draw = Draw(seed)
    config = draw_config(draw)
    lens = shorten(config, draw_lens(draw))
    batch = draw.of(("sequences", "table", "csr"))
    if draw.chance(0.25):
        alike = len({component[1:] for component in config.components}) == 1
        foreign = Foreign(
            order=draw.of(("nhd", "hnd")),
            fused=alike and draw.chance(0.5),
            table=batch == "table",
            max_query_len=max((q for _, q in lens), default=0) + draw.between(0, 3),
            max_kv_len=max((kv for kv, _ in lens), default=0) + draw.between(0, 1000),
        )
        config = replace(config, foreign=foreign)
    problem = Problem(config, [kv for kv, _ in lens], [q for _, q in lens], seed=seed)
    order = f"{draw.of(POLICIES)},processors={draw.of((1, 3, 16, 132))}"
    return Case(seed, problem, batch, draw.of(SPLITS), order)


# --- Running ----------------------------------------------------------------------


class Runner:
    """Runs cases on their targets, and keeps count."""

    def __init__(self, compiler, stream_of):
        self.compiler, self.stream_of = compiler, stream_of
        self.ran = collections.Counter()
        self.refused = collections.Counter()  # of (kind of target, reason)
        self.cases = 0

    def run(self, seed):
        """Runs one case; an AssertionError says how to repeat it."""
        case = draw_case(seed)
        self.cases += 1
        for target in case.targets:
            kind = target.compile_options()["target"]
            try:
                self._run_on(case, target)
                self.ran[kind] += 1
            except Refused as refusal:
                self.refused[kind, reason(refusal)] += 1
            except Exception as error:
                raise AssertionError(
                    f"seed {seed} on {target}: {error}\n{describe(case)}\nto repeat it alone:\n"
                    "  PYTHONPATH=build/python build/venv/bin/python "
                    f"test/python/random_problems.py --seed={seed} --count=1"
                ) from error

    def _run_on(self, case, target):
        function, stream = self._compile(case, target), self.stream_of(target)
        with mock.patch.dict(os.environ, KVC_EMULATOR=case.order):
            results = self._call(case, target, function, stream)
        if not target.is_emulator:
            clean = run(function, case.problem, "zero", stream=stream)
            assert all(a is None or same_bits(a, b) for a, b in zip(results, clean))

    def _call(self, case, target, function, stream):
        problem = case.problem
        memory = place(function, problem, stream=stream)
        others = {} if problem.config.foreign else {"batch": batch_of(case, memory)}
        results = run(function, problem, stream=stream, memory=memory, **others)
        check(problem, results)
        if problem.config.append:
            check_cache(problem, memory)
        return results

    def _compile(self, case, target):
        """Returns @attend; a refusal of the GPU has to be one that is documented."""
        config = case.problem.config
        refusal = gpu_refusal(config) if target.is_gpu else None

        def compile():
            options = target.compile_options()
            return self.compiler.compile(config.text, **options, split=case.split)["attend"]

        return compile_or_refuse(compile, refusal)

    def summary(self):
        """Returns lines: what ran and what was refused, by target."""
        lines = [f"{self.cases} configurations"]
        for kind in sorted({*self.ran, *(kind for kind, _ in self.refused)}):
            refused = {why: n for (k, why), n in self.refused.items() if k == kind}
            lines.append(f"  {kind}: {self.ran[kind]} ran, {sum(refused.values())} refused")
            lines += [f"    {n:5} {why}" for why, n in sorted(refused.items(), key=lambda x: -x[1])]
        return lines

    def check_share(self):
        """Fails if the GPU refused more than it may."""
        refused = sum(n for (kind, _), n in self.refused.items() if kind == "gpu")
        share = refused / max(1, self.cases)
        assert share <= MAX_REFUSED, (
            f"expected the GPU to refuse at most {MAX_REFUSED:.0%}, got {share:.0%}:\n"
            + "\n".join(self.summary())
        )


def batch_of(case, memory):
    """Returns the batch as the case wants it."""
    if case.batch == "sequences":
        return memory.batch
    if case.batch == "table":
        return memory.raw_batch()
    return memory.compressed_batch()


def reason(refusal):
    """Returns a refusal's message without its place and its numbers."""
    text = str(refusal).splitlines()[0].split("error: ")[-1]
    return re.sub(r"(?<![\w.])\d+", "N", text)


def describe(case):
    problem = case.problem
    return (
        f"{problem.config}\nkv_lens {problem.kv_lens}, query_lens {problem.query_lens}, "
        f"batch of {case.batch}, split {case.split}, {case.order}"
    )


# --- The script -------------------------------------------------------------------


def make_stream_of():
    streams = {}

    def get(target: Target):
        if target.device not in streams:
            is_cpu = target.device == "cpu"
            device = None if is_cpu else kvc.Device(target.device)
            streams[target.device] = kvc.Stream(2 if is_cpu else 0, device)
        return streams[target.device]

    return get


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--count", type=int, default=100, help="configurations (100)")
    parser.add_argument("--seed", type=int, default=0, help="the first one (0)")
    options = parser.parse_args()
    runner, failures, start = Runner(kvc.Compiler(), make_stream_of()), [], time.monotonic()
    print(f"seeds {options.seed} to {options.seed + options.count - 1}", flush=True)
    for done, seed in enumerate(range(options.seed, options.seed + options.count), 1):
        try:
            runner.run(seed)
        except AssertionError as error:
            failures.append(seed)
            print(f"\n{error}\n", flush=True)
        if done % 50 == 0 or done == options.count:
            print(
                f"{done} of {options.count}, {len(failures)} failed, "
                f"{time.monotonic() - start:.0f} s",
                flush=True,
            )
    print("\n".join(runner.summary()))
    if options.count >= 50:
        runner.check_share()
    if failures:
        sys.exit(f"failed: seeds {', '.join(map(str, failures))}")


if __name__ == "__main__":
    main()
