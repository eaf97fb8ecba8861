#!/usr/bin/env python3
"""Checks and times kvc on a GPU, in the folder that tools/gpu-check.sh packed.

Runs tiny kernels of each PTX instruction on CUDA's driver and on the emulator and
compares them bit for bit; runs kvc's kernels against NumPy in float64; times attention
beside a copy, PyTorch and Triton. Needs Python 3.9, NumPy, ml_dtypes and CUDA's driver.
The exit status is 0 if all is well, 1 if something is off, 2 if it cannot run.
"""

import argparse
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER / "python")]
sys.dont_write_bytecode = True


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=("cuda", "emulator"), required=True)
    parser.add_argument("--out", type=Path, help="folder of the results (default: results-DEVICE)")
    parser.add_argument("--quick", action="store_true", help="fewer elements and batches")
    parser.add_argument(
        "--only", help="of the stages probes, kernels and timing, separated by commas (default: "
        "all, on the emulator but timing)"
    )
    parser.add_argument(
        "--seconds", type=float, default=400, help="after which nothing new starts (default: 400)"
    )
    # One stage a process, so that a fault on the device ends one stage alone.
    parser.add_argument("--stage", help=argparse.SUPPRESS)
    parser.add_argument("--started", type=float, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if not (FOLDER / "manifest.json").exists():
        print(f"{FOLDER} has no manifest.json: run the copy in a folder of gpu-check.sh pack")
        return 2
    try:
        import ml_dtypes  # noqa: F401
        import numpy  # noqa: F401
    except ImportError as error:
        print(f"gpu-check needs NumPy and ml_dtypes ({error}): python3 -m pip install ml_dtypes")
        return 2
    from gpu_check import main as stages

    arguments.out = arguments.out or Path(f"results-{arguments.device}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.stage:
        return stages.run_stage(FOLDER, arguments)
    return stages.run_all(FOLDER, Path(__file__).resolve(), arguments)


if __name__ == "__main__":
    sys.exit(main())
