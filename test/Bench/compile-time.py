"""Times text to PTX in this process, beside nvcc on an empty kernel.

    PYTHONPATH=build/python build/venv/bin/python test/Bench/compile-time.py

Prints the median, the smallest and the largest of several repetitions, in
milliseconds. The first compilation is left out: it loads code pages.
"""

import argparse
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

import kvc

EXAMPLE = pathlib.Path(__file__).parents[1] / "Examples" / "llama-3-8b.mlir"


def milliseconds(function):
    start = time.perf_counter()
    function()
    return 1e3 * (time.perf_counter() - start)


def report(what, times):
    print(f"{what:<44} {statistics.median(times):9.1f} {min(times):9.1f} {max(times):9.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=7, help="default: 7")
    parser.add_argument("--file", type=pathlib.Path, default=EXAMPLE, help="default: Llama 3 8B")
    arguments = parser.parse_args()

    text = arguments.file.read_text()
    compiler = kvc.Compiler()
    works = {
        f"{arguments.file.name} to PTX, in process": lambda: compiler.compile(
            text, target="gpu", emit="ptx"
        ),
        f"{arguments.file.name} to CPU code, in process": lambda: compiler.compile(text),
    }
    with tempfile.TemporaryDirectory() as folder:
        nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
        if nvcc:
            source = pathlib.Path(folder, "empty.cu")
            source.write_text("__global__ void empty() {}\n")
            command = [nvcc, "-arch=sm_90a", "-ptx", str(source), "-o", f"{folder}/empty.ptx"]
            works["nvcc, an empty kernel to PTX"] = lambda: subprocess.run(command, check=True)
        times = {what: [] for what in works}
        for repetition in range(arguments.repetitions + 1):
            for what, work in works.items():
                taken = milliseconds(work)
                if repetition > 0:
                    times[what].append(taken)
    print(f"{'milliseconds':<44} {'median':>9} {'smallest':>9} {'largest':>9}")
    for what, taken in times.items():
        report(what, taken)
    if not nvcc:
        print("nvcc was not found")


if __name__ == "__main__":
    main()
