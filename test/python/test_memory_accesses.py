"""How GPU kernels read and write memory, by what the emulator counts."""

import json
import os
from unittest import mock

import pytest

from problems import Problem, arguments, check, gqa, mla, place, unwritten
from targets import DEVICES, FULL

EMULATORS = [target for target in DEVICES if target.device == "emulator"]
pytestmark = pytest.mark.skipif(not EMULATORS, reason="the emulator is not built")
TARGET = EMULATORS[0] if EMULATORS else None

WIDTHS = range(8, 257, 8) if FULL else (8, 24, 40, 64, 72, 80, 96, 112, 128, 160, 200, 256)
#: Rows of 31 copies of 16 bytes: what reads no 32 bytes of memory twice meets a bank twice.
MEETS = (248,)
PHASES = {"decode": [1, 1], "prefill": [200, 70]}


def count(attend, stream_of, config, query_lens, path):
    """Runs @attend over two sequences, checks its results, and returns counters by kernel."""
    stream = stream_of(TARGET)
    problem = Problem(config, [200, 70], query_lens)
    function = attend(config, TARGET)
    memory, out = place(function, problem, stream=stream), unwritten(problem)
    with mock.patch.dict(os.environ, KVC_EMULATOR=f"copies=lazy,counters={path}"):
        function(*arguments(problem, memory), out=out, stream=stream)
    check(problem, out)
    launches = [json.loads(line) for line in path.read_text().splitlines()]
    return {launch["kernel"]: launch["counters"] for launch in launches}


def check_conflicts(counters):
    for kernel, counted in counters.items():
        for name in ("matrix_loads", "copy_stores"):
            assert counted[name]["conflicts"] == 0, (kernel, name)


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("width", WIDTHS)
def test_copies_and_operands_meet_no_bank_twice(attend, stream_of, tmp_path, width, phase):
    config = gqa(8, 2, width, dtype="bf16", page=16)
    counters = count(attend, stream_of, config, PHASES[phase], tmp_path / "counters.jsonl")
    assert counters[f"attend_attention_{phase}"]["matrix_loads"]["requests"] > 0
    if width not in MEETS:
        check_conflicts(counters)


#: Rows of a page and head lie side by side, so that only those of pages of one token may
#: begin within the 32 bytes that memory reads at once.
WHOLE = [(w, page) for w in WIDTHS for page in (1, 4, 16, 48, 64) if w % 16 == 0 or page > 1]


@pytest.mark.parametrize("width, page", WHOLE)
def test_decode_reads_the_cache_once(attend, stream_of, tmp_path, width, page):
    config = gqa(8, 2, width, dtype="bf16", page=page)
    counters = count(attend, stream_of, config, PHASES["decode"], tmp_path / "counters.jsonl")
    read = counters["attend_attention_decode"]["copies"]["sectors"] * 32
    assert read == (200 + 70) * width * 2 * 2 * 2


@pytest.mark.parametrize("latent, rotary", [(512, 64), (96, 32), (288, 8)])
def test_latent_rows_too(attend, stream_of, tmp_path, latent, rotary):
    config = mla(query_heads=16, latent=latent, rotary=rotary, page=16)
    for phase, query_lens in PHASES.items():
        check_conflicts(
            count(attend, stream_of, config, query_lens, tmp_path / f"{phase}.jsonl")
        )
