"""The stages of tools/gpu-check.py, each in a process of its own."""

import ctypes
import json
import os
import platform
import re
import subprocess
import sys
import time

from gpu_check import golden, probes, summary
from gpu_check.driver import CUDA, Driver, DriverError
from gpu_check.report import Progress

STAGES = ("probes", "kernels", "timing")
#: When each stage stops to start new work, as a share of all the time.
_SHARES = {"probes": 0.3, "kernels": 0.65, "timing": 1.0}
#: What stands for a device where there is none: blocks and warps in random order.
_OTHER_ORDER = "seed=1,copies=random"
_CANNOT_RUN = 2


def library_paths(folder, out):
    """Returns runtime and emulator; builds them where the packed ones do not load."""
    names = "libkvc_rt.so", "libkvc_emulator_cuda.so"
    packed = [folder / "lib" / name for name in names]
    built = [out.resolve() / "lib" / name for name in names]
    if all(path.exists() for path in built):
        return built
    try:
        for path in packed:
            ctypes.CDLL(str(path))
        return packed
    except OSError as error:
        print(f"the packed libraries do not load ({error}); building them")
    script = folder / "gpu_check" / "build-libraries.sh"
    subprocess.run(["bash", str(script), str(folder / "source"), str(built[0].parent)], check=True)
    return built


def open_device(name, emulator):
    """Returns the driver that is checked, or a text that says what is missing."""
    if name == "emulator":
        return Driver(str(emulator))
    try:
        driver = Driver(CUDA)
    except OSError as error:
        return f"no NVIDIA driver: {error}"
    except DriverError as error:
        return f"no device: {error}"
    if driver.compute_capability != (9, 0):
        return f"expected a device of compute capability 9.0 (H100, H200), got {driver.device_name}"
    return driver


# --- The parent --------------------------------------------------------------


def run_all(folder, script, arguments):
    """Runs the stages and prints the summary; returns the exit status."""
    is_emulator = arguments.device == "emulator"
    default = [name for name in STAGES if not (is_emulator and name == "timing")]
    chosen = [name.strip() for name in arguments.only.split(",")] if arguments.only else default
    for name in chosen:
        if name not in STAGES:
            print(f"unknown stage '{name}'; there are {', '.join(STAGES)}")
            return _CANNOT_RUN
    progress = Progress()
    started = time.time()
    try:
        library_paths(folder, arguments.out)
    except subprocess.CalledProcessError as error:
        print(f"cannot build the libraries: {error}")
        return _CANNOT_RUN
    results = {"device": arguments.device, "quick": arguments.quick}
    manifest = json.loads((folder / "manifest.json").read_text())
    results["commit"] = manifest["commit"]
    results["date"] = time.strftime("%Y-%m-%d")
    for name in STAGES:
        if name not in chosen:
            if not arguments.only:
                progress.say(f"{name}: left out, the emulator's time says nothing")
            continue
        status, stage = _run_child(script, arguments, name, started)
        if status == _CANNOT_RUN:
            return _CANNOT_RUN
        results.setdefault("about", stage.pop("about", {}))
        results[name] = stage
    results["seconds"] = round(progress.seconds, 1)
    path = arguments.out / f"results-{arguments.device}.json"
    path.write_text(json.dumps(results, indent=1) + "\n")
    lines, is_good = summary.describe(results)
    print("\n".join(["", *lines]))
    summary.write_page(arguments.out / f"summary-{arguments.device}.md", lines)
    print(f"\nresults are in {arguments.out}")
    return 0 if is_good else 1


def _run_child(script, arguments, name, started):
    """Runs a stage; returns its exit status and what it found."""
    path = arguments.out / f"{name}.json"
    if path.exists():
        path.unlink()
    command = [sys.executable, str(script), f"--device={arguments.device}", f"--stage={name}"]
    command += [f"--out={arguments.out}", f"--started={started}", f"--seconds={arguments.seconds}"]
    command += ["--quick"] if arguments.quick else []
    # The driver keeps what it compiled; then loading would cost nothing.
    environment = {**os.environ, "CUDA_CACHE_DISABLE": "1"}
    left = started + arguments.seconds * _SHARES[name] - time.time()
    try:
        status = subprocess.run(command, env=environment, timeout=max(left, 0) + 60).returncode
        text = f"ended with status {status}"
    except subprocess.TimeoutExpired:
        status, text = 1, "took too long and was stopped"
    if path.exists():
        stage = json.loads(path.read_text())
        path.unlink()
        if status != 0:
            stage["cut"] = f"{name} {text}"
    else:
        stage = {"failed": f"{name} {text}"}
    return status, stage


# --- A stage -----------------------------------------------------------------


def run_stage(folder, arguments):
    """Runs one stage in this process; leaves its results in a file."""
    progress = Progress(time.monotonic() - (time.time() - arguments.started))
    end = arguments.seconds * _SHARES[arguments.stage]
    runtime_path, emulator_path = library_paths(folder, arguments.out)
    driver = open_device(arguments.device, emulator_path)
    if isinstance(driver, str):
        print(f"cannot check a device: {driver}")
        return _CANNOT_RUN
    manifest = json.loads((folder / "manifest.json").read_text())

    def out_of_time():
        return progress.seconds > end

    stage = {"probes": _probe, "kernels": _check_kernels, "timing": _time}[arguments.stage]
    from kvc import _kvc

    _kvc.load_runtime(runtime_path)
    paths = {"emulator": emulator_path, "folder": folder}

    def keep(results):
        """Writes what there is so far: a fault must not lose it."""
        new = arguments.out / f"{arguments.stage}.json.new"
        new.write_text(json.dumps({**results, "about": about(driver)}))
        new.replace(new.with_suffix(""))

    keep(stage(driver, paths, manifest, arguments, progress, out_of_time, keep))
    return 0


def about(driver):
    """Returns facts about the machine."""
    return {
        "device": driver.device_name,
        "driver": driver.version,
        "python": platform.python_version(),
        "system": platform.platform(),
        "processors": os.cpu_count(),
    }


def _probe(driver, paths, manifest, arguments, progress, out_of_time, keep):
    del out_of_time, keep  # It is the first stage, and short.
    quick = arguments.quick
    table = probes.table()
    emitted = sorted({opcode for entry in manifest["programs"] for opcode in entry["opcodes"]})
    missing = probes.without_probe(emitted, table)
    emulator = Driver(str(paths["emulator"]))
    version = tuple(map(int, driver.version.split(".")))
    too_new = [probe for probe in table if probes.needed_driver(probe) > version]
    table = [probe for probe in table if probes.needed_driver(probe) <= version]

    def run(side, name, options=""):
        def tell(done):
            if done % 512 == 0:
                progress.say(f"probes on the {name}: {done} of {len(table)}")

        side.use()
        return list(probes.run_all(side, table, quick, options, tell))

    progress.say(f"probes: {len(table)}; kvc's kernels have {len(emitted)} opcodes")
    name = "device" if arguments.device == "cuda" else "emulator in another order"
    got = run(driver, name, "" if arguments.device == "cuda" else _OTHER_ORDER)
    slug = re.sub(r"[^a-z0-9]+", "-", driver.device_name.lower()).strip("-")
    slug = slug if arguments.device == "cuda" else "emulator"
    facts = {**about(driver), "date": time.strftime("%Y-%m-%d"), "commit": manifest["commit"]}
    golden.save(arguments.out / f"golden-{slug}.npz", got, quick, **facts)
    want = run(emulator, "emulator")
    verdicts = [probes.compare(p, quick, g, w) for (p, g), (_, w) in zip(got, want)]
    verdicts += [probes.Verdict(probe, "left out") for probe in too_new]
    good = sum(verdict.is_good for verdict in verdicts)
    progress.say(f"probes: {good} of {len(verdicts)} are good, {len(missing)} opcodes have none")
    return {
        "emitted": emitted,
        "without_probe": missing,
        "verdicts": [verdict.as_dict() for verdict in verdicts],
    }


def _kind(driver):
    """Returns the kind of device that a driver's library is for, as kvc.Device takes it."""
    return driver.path if driver.is_emulator else "cuda"


def _check_kernels(driver, paths, manifest, arguments, progress, out_of_time, keep):
    from gpu_check import kernels

    kinds = [_kind(driver)] + ([str(paths["emulator"])] if not driver.is_emulator else [])
    sides = [kernels.Side(kind, paths["folder"]) for kind in kinds]

    def as_results(rows):
        return {"rows": [row.as_dict() for row in rows]}

    return as_results(
        kernels.check_all(
            manifest, sides, arguments.quick, out_of_time, progress.say,
            lambda rows: keep(as_results(rows)),
        )
    )  # fmt: skip


def _time(driver, paths, manifest, arguments, progress, out_of_time, keep):
    import kvc
    from gpu_check import timing

    stream = kvc.Stream(device=kvc.Device(_kind(driver)))
    driver.use()
    try:
        return timing.time_all(
            driver, stream, manifest, paths["folder"], arguments.quick, out_of_time,
            progress.say, keep,
        )  # fmt: skip
    except (kvc.Error, DriverError) as error:
        return {"failed": str(error)}
