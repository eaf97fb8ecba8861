"""Results of a device, kept to hold the emulator against without one.

Of each result of a probe a file has a hash for each block of elements, and the
bits of some elements. With a probe goes a key of its kernel and inputs: of a probe
that was changed since, nothing is compared.
"""

import hashlib
import json

import numpy as np

from gpu_check.probes import Verdict, compare

VERSION = 1
_BLOCK = 1024
_KEPT, _KEPT_OF_APPROXIMATION = 128, 4096


class GoldenError(ValueError):
    """A file is not what `save` wrote."""


def kept_places(probe, count):
    """Returns the elements of a result whose bits are kept."""
    if probe.approximation:
        return np.arange(0, count, max(1, count // _KEPT_OF_APPROXIMATION))
    return np.arange(min(count, _KEPT))


def _hashes(array):
    blocks = [array[i : i + _BLOCK].tobytes() for i in range(0, len(array), _BLOCK)]
    digests = [hashlib.blake2b(block, digest_size=8).digest() for block in blocks]
    return np.frombuffer(b"".join(digests), np.uint64)


def save(path, results, quick, **about):
    """Writes results, pairs of a probe and its arrays, with facts about the device.

    Probes that failed, which have a text in place of arrays, are left out.
    """
    entries, hashes, bits = [], [], []
    for probe, arrays in results:
        if isinstance(arrays, str):
            continue
        entry = {"name": probe.name, "key": probe.key(quick), "hashes": 0, "bytes": 0}
        for array in arrays:
            if not probe.approximation:
                hashes.append(_hashes(array))
                entry["hashes"] += len(hashes[-1])
            bits.append(array[kept_places(probe, len(array))].tobytes())
            entry["bytes"] += len(bits[-1])
        entries.append(entry)
    facts = {"version": VERSION, "quick": quick, **about, "probes": entries}
    text = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    hashes = np.concatenate([np.zeros(0, np.uint64), *hashes])
    bits = np.frombuffer(b"".join(bits), np.uint8)
    digest = _digest(text, hashes, bits)
    np.savez_compressed(path, facts=text, hashes=hashes, bits=bits, digest=digest)


def _digest(*arrays):
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array.tobytes())
    return np.frombuffer(digest.digest(), np.uint8)


class Golden:
    """A file that `save` wrote."""

    def __init__(self, path):
        try:
            with np.load(path, allow_pickle=False) as file:
                text, self._hashes, self._bits = (file[n] for n in ("facts", "hashes", "bits"))
                digest = file["digest"]
        except Exception as error:
            raise GoldenError(f"{path} cannot be read: {error}") from error
        if digest.tobytes() != _digest(text, self._hashes, self._bits).tobytes():
            raise GoldenError(f"{path} was damaged: its digest does not fit")
        self.facts = json.loads(text.tobytes())
        if self.facts["version"] != VERSION:
            raise GoldenError(f"{path}: expected version {VERSION}, got {self.facts['version']}")
        self.quick = self.facts["quick"]

    def compare(self, probes, results):
        """Compares results of the emulator with the file's.

        Parameters
        ----------
        probes : list of Probe
            Those that there are.
        results : callable
            Takes a list of probes; gives pairs of a probe and its arrays.

        Returns
        -------
        verdicts : list of Verdict
        stale : list of str
            Names of the probes that are gone or were changed.
        """
        known = {probe.name: probe for probe in probes}
        stored, stale = {}, []
        hash_end = bit_end = 0
        for entry in self.facts["probes"]:
            hashes = self._hashes[hash_end : hash_end + entry["hashes"]]
            bits = self._bits[bit_end : bit_end + entry["bytes"]].tobytes()
            hash_end, bit_end = hash_end + entry["hashes"], bit_end + entry["bytes"]
            probe = known.get(entry["name"])
            if probe is None or probe.key(self.quick) != entry["key"]:
                stale.append(entry["name"])
            else:
                stored[probe.name] = hashes, bits
        current = [probe for probe in probes if probe.name in stored]
        verdicts = [
            self._compare_one(probe, arrays, *stored[probe.name])
            for probe, arrays in results(current)
        ]
        return verdicts, stale

    def _compare_one(self, probe, arrays, hashes, bits):
        if isinstance(arrays, str):
            return Verdict(probe, "failed", f"emulator: {arrays}")
        kept, places, end = [], [], 0
        for array in arrays:
            places.append(kept_places(probe, len(array)))
            size = len(places[-1]) * array.itemsize
            kept.append(np.frombuffer(bits[end : end + size], array.dtype))
            end += size
        some = [array[at] for array, at in zip(arrays, places)]
        verdict = compare(probe, self.quick, kept, some, ("golden", "emulator"), places)
        if verdict.status != "equal" or probe.approximation:
            return verdict
        block = 0
        for index, array in enumerate(arrays):
            for i, value in enumerate(_hashes(array)):
                if value != hashes[block]:
                    text = f"result {index}: elements from {i * _BLOCK} to {(i + 1) * _BLOCK - 1}"
                    return Verdict(probe, "differs", f"{text} have another hash")
                block += 1
        verdict.compared = sum(array.size for array in arrays)
        return verdict
