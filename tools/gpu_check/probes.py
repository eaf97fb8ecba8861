"""Runs probes on drivers and compares the results bit for bit."""

from dataclasses import dataclass

import numpy as np

from gpu_check import (
    approximate_probes,
    convert_probes,
    matrix_probes,
    memory_probes,
    scalar_probes,
    warp_probes,
)
from gpu_check.driver import DriverError
from gpu_check.probe import THREADS, header
from gpu_check.values import BITS, FLOATS

_TABLES = (
    scalar_probes,
    convert_probes,
    approximate_probes,
    warp_probes,
    memory_probes,
    matrix_probes,
)
#: Probes that are loaded as one module.
_PER_MODULE = 64


def table():
    """Returns all probes, in an order that keeps modules of one version together."""
    result = [probe for module in _TABLES for probe in module.probes()]
    names = {probe.name for probe in result}
    assert len(names) == len(result), "expected a name of its own for each probe"
    return sorted(result, key=lambda probe: probe.version)


def needed_driver(probe):
    """Returns the CUDA version that first knew a probe's version of PTX."""
    minor = {"8.0": 0, "8.2": 2, "8.4": 4, "8.7": 8}[probe.version]
    return 12, minor


def without_probe(opcodes, probes):
    """Returns those opcodes that no probe tries."""
    tried = {opcode for probe in probes for opcode in probe.opcodes}
    return sorted(set(opcodes) - tried)


def run_all(driver, probes, quick, options="", progress=lambda done: None):
    """Runs probes; yields each with its results, or with the error's text."""
    for start in range(0, len(probes), _PER_MODULE):
        group = probes[start : start + _PER_MODULE]
        yield from _run_group(driver, group, quick, options)
        progress(start + len(group))


def _run_group(driver, group, quick, options):
    version = max(probe.version for probe in group)
    entries = [probe.entry(f"probe_{i}") for i, probe in enumerate(group)]
    try:
        module = driver.load(header(version) + "\n".join(entries))
    except DriverError as error:
        if len(group) == 1:
            yield group[0], str(error)
            return
        # One is at fault: find it.
        middle = len(group) // 2
        yield from _run_group(driver, group[:middle], quick, options)
        yield from _run_group(driver, group[middle:], quick, options)
        return
    for i, probe in enumerate(group):
        try:
            yield probe, run_one(driver, module, f"probe_{i}", probe, quick, options)
        except DriverError as error:
            yield probe, str(error)
    driver.unload(module)


def run_one(driver, module, name, probe, quick, options=""):
    """Runs a probe of a loaded module and returns its results."""
    driver.set_options(options)
    results = probe.outputs(quick)
    addresses = []
    try:
        for array in probe.inputs(quick) + results:
            addresses.append(driver.allocate(array.nbytes))
            driver.write(addresses[-1], array)
        blocks = probe.size(quick) // THREADS
        driver.launch(module, name, blocks, THREADS, addresses, cluster=probe.cluster)
        for address, array in zip(addresses[len(probe.sources) :], results):
            driver.read(address, array)
    finally:
        reports = driver.take_reports()
        for address in addresses:
            driver.free(address)
    if reports:
        raise DriverError(reports.splitlines()[0])
    return results


# --- Comparing ---------------------------------------------------------------


@dataclass
class Verdict:
    """What came of a probe.

    `status` is one of: equal, within bounds (an approximation), differs, failed,
    left out (the driver is older than the instruction).
    """

    probe: object
    status: str
    text: str = ""
    compared: int = 0
    different: int = 0
    ulps: tuple = ()  # results that are 0, 1, 2, 3-4, 5-8, 9-16, more ulps apart
    max_ulp: int = 0
    max_error: tuple = ()  # of each side, as a share of what is allowed

    @property
    def is_good(self):
        return self.status in ("equal", "within bounds", "left out")

    def as_dict(self):
        facts = {
            "name": self.probe.name,
            "opcodes": list(self.probe.opcodes),
            "status": self.status,
            "compared": self.compared,
        }
        if self.status not in ("equal", "left out"):
            facts.update(text=self.text, different=self.different)
        if self.max_error:
            facts.update(ulps=list(self.ulps), max_ulp=self.max_ulp)
            facts.update(max_error=list(self.max_error))
        return facts


def compare(probe, quick, got, want, names=("device", "emulator"), places=None):
    """Compares the results of two sides; `places` are those that the results are of."""
    for side, name in ((got, names[0]), (want, names[1])):
        if isinstance(side, str):
            return Verdict(probe, "failed", f"{name}: {side}")
    verdict = Verdict(probe, "equal", compared=sum(a.size for a in got))
    for index, (one, other) in enumerate(zip(got, want)):
        bad = np.flatnonzero(one != other)
        if bad.size and not verdict.different:
            verdict.text = _example(probe, quick, index, bad[0], one, other, names, places)
        verdict.different += bad.size
    if probe.approximation:
        _compare_approximation(probe, quick, got, want, verdict, names, places)
    elif verdict.different:
        verdict.status = "differs"
    return verdict


def _hex(value, kind):
    return f"{int(value):#0{2 + max(BITS[kind] // 4, 1)}x}"


def _example(probe, quick, index, place, one, other, names, places):
    """Says where two results differ, with the inputs of that thread."""
    kind = probe.results[index]
    element = place if places is None else places[index][place]
    text = f"result {index} of element {element}: {names[0]} {_hex(one[place], kind)}, "
    text += f"{names[1]} {_hex(other[place], kind)}"
    inputs = []
    for i, array in enumerate(probe.inputs(quick)):
        if i not in probe.raw_sources and index not in probe.raw_results:
            inputs.append(_hex(array[element], probe.kind(i)))
    return text + (f", of {', '.join(inputs)}" if inputs else "")


def as_floats(bits, kind):
    """Returns the values of floats as float64; of a pair the low one."""
    kind = kind[:-2] if kind.endswith("x2") else kind
    if kind == "f16":
        values = bits.astype(np.uint16).view(np.float16)
    elif kind == "bf16":
        values = (bits.astype(np.uint16).astype(np.uint32) << 16).view(np.float32)
    else:
        values = bits.view(np.float32)
    with np.errstate(invalid="ignore"):  # NaN
        return values.astype(np.float64)


def _ordered(bits, kind):
    """Returns integers that are one apart where floats are neighbours."""
    kind = kind[:-2] if kind.endswith("x2") else kind
    exponent_bits, mantissa_bits = FLOATS[kind]
    sign = 1 << (exponent_bits + mantissa_bits)
    bits = bits.astype(np.int64) & (2 * sign - 1)
    return np.where(bits & sign, sign - bits, bits)


def _compare_approximation(probe, quick, got, want, verdict, names, places):
    """Holds both sides to the bound; where one is special, they must agree."""
    kind = probe.results[0]
    inputs = probe.inputs(quick)
    if places is not None:
        inputs = [array[places[0]] for array in inputs]
    arguments = [as_floats(array, probe.kind(i)) for i, array in enumerate(inputs)]
    small = kind[:-2] if kind.endswith("x2") else kind
    least = {"f32": 2.0**-149, "f16": 2.0**-24, "bf16": 2.0**-133}[small]
    if ".ftz" in probe.name:
        normal = {"f32": 2.0**-126, "bf16": 2.0**-126, "f16": 2.0**-14}[small]
        arguments = [np.where(np.abs(a) < normal, np.copysign(0.0, a), a) for a in arguments]
        least = normal
    exact = probe.approximation.function(*arguments)
    largest = {"f32": 2.0**128, "f16": 65520.0, "bf16": 2.0**128}[small]
    allowed = probe.approximation.absolute + probe.approximation.relative * np.abs(exact) + least
    special = ~np.isfinite(exact) | (np.abs(exact) >= largest * (1 - 2.0**-10))
    shares = []
    for name, side in zip(names, (got, want)):
        value = as_floats(side[0], kind)
        with np.errstate(invalid="ignore"):
            share = np.where(special, 0.0, np.abs(value - exact) / allowed)
        share = np.where(np.isnan(share), np.inf, share)
        shares.append(float(share.max()))
        if shares[-1] > 1:
            place = int(share.argmax())
            verdict.status = "differs"
            verdict.text = (
                f"{name}: f({arguments[0][place]:.9g}) = {value[place]:.9g}, "
                f"not {exact[place]:.9g}: {shares[-1]:.3g} times what is allowed"
            )
    verdict.max_error = tuple(shares)
    one, other = as_floats(got[0], kind), as_floats(want[0], kind)
    same = (got[0] == want[0]) | (np.isnan(one) & np.isnan(other))
    bad = special & ~same & ~((np.abs(one) >= largest / 2) & (np.abs(other) >= largest / 2))
    if bad.any() and verdict.status == "equal":
        place = int(np.flatnonzero(bad)[0])
        verdict.status = "differs"
        verdict.text = (
            f"f({arguments[0][place]:.9g}): {names[0]} {one[place]}, {names[1]} {other[place]}"
        )
    finite = np.isfinite(one) & np.isfinite(other)
    distance = np.abs(_ordered(got[0][finite], kind) - _ordered(want[0][finite], kind))
    bounds = [0, 1, 2, 4, 8, 16]
    counts = [int((distance <= bound).sum()) for bound in bounds] + [distance.size]
    verdict.ulps = tuple(np.diff([0, *counts]).tolist())
    verdict.max_ulp = int(distance.max(initial=0))
    if verdict.status == "equal" and verdict.different:
        verdict.status = "within bounds"
