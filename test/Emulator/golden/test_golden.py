"""Holds the emulator to the results of a device, which files here keep.

Without such a file there is nothing to hold it to. That files are written and
compared right is tried in any case, with results of the emulator itself.
"""

import os
import pathlib
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from gpu_check import golden, probes, values  # noqa: E402
from gpu_check.driver import Driver  # noqa: E402

FILES = sorted(HERE.glob("golden-*.npz"))


@pytest.fixture(scope="module")
def emulator():
    build = os.environ.get("KVC_BUILD_DIR", ROOT / "build")
    default = pathlib.Path(build) / "lib" / "libkvc_emulator_cuda.so"
    return Driver(os.environ.get("KVC_EMULATOR_LIBRARY", str(default)))


@pytest.fixture(scope="module")
def table():
    return probes.table()


def replay(emulator, path, table):
    """Compares the emulator with a file; returns verdicts and names of stale probes."""
    file = golden.Golden(path)
    return file.compare(table, lambda known: probes.run_all(emulator, known, file.quick))


@pytest.mark.parametrize("path", FILES or [None], ids=lambda path: path.stem if path else "none")
def test_emulator_is_like_the_device(emulator, table, path):
    if path is None:
        pytest.skip("no golden-*.npz of a device is checked in; docs/GPU.md says how to make one")
    verdicts, stale = replay(emulator, path, table)
    bad = [f"{v.probe.name}: {v.text}" for v in verdicts if not v.is_good]
    assert not bad, "\n".join(bad)
    assert verdicts, "every probe was changed since; make the file anew on a device"
    for name in stale:
        print(f"changed since the file was made, not compared: {name}")


# --- The comparison itself ----------------------------------------------------

#: Of each kind of probe one: exact, approximate, of a warp, of memory, of matrices.
NAMES = (
    "fma.rn.f32",
    "ex2.approx.ftz.f32",
    "shfl.sync.bfly.b32 lane",
    "ld.global.nc.v2.b32",
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
)


@pytest.fixture(scope="module")
def few(table):
    result = [probe for probe in table if probe.name in NAMES]
    assert len(result) == len(NAMES)
    return result


@pytest.fixture(scope="module")
def results(emulator, few):
    return list(probes.run_all(emulator, few, False))


def changed(results, name, place, result=0):
    """Returns results in which one bit of one element is another."""
    copy = [(probe, [array.copy() for array in arrays]) for probe, arrays in results]
    arrays = next(arrays for probe, arrays in copy if probe.name == name)
    arrays[result][place] ^= arrays[result].dtype.type(1)
    return copy


def test_same_results_are_good(emulator, few, results, tmp_path):
    path = tmp_path / "golden-emulator.npz"
    golden.save(path, results, False, device="emulator")
    verdicts, stale = replay(emulator, path, few)
    assert [v.status for v in verdicts] == ["equal"] * len(NAMES) and not stale


@pytest.mark.parametrize("place", [0, 100, 900, -1])
@pytest.mark.parametrize("name", [name for name in NAMES if "approx" not in name])
def test_another_bit_is_found(emulator, few, results, tmp_path, name, place):
    path = tmp_path / "golden-emulator.npz"
    golden.save(path, changed(results, name, place), False)
    verdicts, _ = replay(emulator, path, few)
    assert [v.probe.name for v in verdicts if not v.is_good] == [name]


def test_approximation_may_be_an_ulp_off(emulator, few, results, tmp_path):
    name = "ex2.approx.ftz.f32"
    path = tmp_path / "golden-emulator.npz"
    arrays = next(arrays for probe, arrays in results if probe.name == name)
    # An element whose bits are kept, and whose value is neither zero nor infinite.
    step = len(arrays[0]) // 4096
    kept = arrays[0][::step].view(np.float32)
    place = step * int(np.flatnonzero((kept > 1.5) & (kept < 1.75))[0])
    golden.save(path, changed(results, name, place), False)
    verdict = next(v for v in replay(emulator, path, few)[0] if v.probe.name == name)
    assert (verdict.status, verdict.max_ulp, verdict.ulps[1]) == ("within bounds", 1, 1)
    arrays[0][place] += 64
    golden.save(path, results, False)
    arrays[0][place] -= 64
    verdict = next(v for v in replay(emulator, path, few)[0] if v.probe.name == name)
    assert verdict.status == "differs" and "times what is allowed" in verdict.text


def test_changed_probe_is_stale(emulator, few, results, tmp_path):
    path = tmp_path / "golden-emulator.npz"
    golden.save(path, results, False)
    other = [probe for probe in few if probe.name != "fma.rn.f32"]
    verdicts, stale = replay(emulator, path, other)
    assert stale == ["fma.rn.f32"] and all(v.is_good for v in verdicts)
    assert len(verdicts) == len(NAMES) - 1


def test_damaged_file_is_refused(emulator, few, results, tmp_path):
    path = tmp_path / "golden-emulator.npz"
    golden.save(path, results, False)
    with np.load(path) as file:
        arrays = {name: file[name].copy() for name in file.files}
    arrays["bits"][1000] ^= 1
    np.savez_compressed(path, **arrays)
    with pytest.raises(golden.GoldenError, match="was damaged"):
        golden.Golden(path)
    data = bytearray(path.read_bytes())
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(golden.GoldenError, match="cannot be read"):
        golden.Golden(path)


# --- Inputs -------------------------------------------------------------------


def test_inputs_are_the_same_everywhere():
    """Files that were made elsewhere rest on it."""
    bits = values.random_bits(3, "seed")
    assert [hex(n) for n in bits] == [
        "0x27aafee927aab96a",
        "0x611d7f9fdd69adba",
        "0xe13c645794367b70",
    ]
    floats = values.make("f32", 4096, "x 0")[[0, 5, 2000, 4095]]
    assert [hex(n) for n in floats] == ["0x0", "0xc1000000", "0x2b3a2896", "0xbef79113"]
    pairs = values.matrix("bf16", "a")(2048, "x")[[0, 600, 1024, 2047]]
    assert [hex(n) for n in pairs] == ["0x2fb4eff5", "0xbf4ac0bb", "0xbab1b958", "0xbc805b"]
