"""Gathers in a folder all that tools/gpu-check.py needs on the other machine."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from gpu_check.driver import opcodes

ROOT = pathlib.Path(__file__).resolve().parents[2]
#: Modules of the tests that the checks use.
TESTS = ("configs", "memories", "problems", "quantized", "reference")
#: Bytes that a pack may have.
LIMIT = 64 << 20


def run(*command):
    """Runs a command; its failure ends the script with what it printed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"gpu-check: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def ptx_of(object_file):
    """Returns the PTX that a program in an object file has."""
    data = object_file.read_bytes()
    middle = data.index(b".version ")
    return data[data.rfind(b"\0", 0, middle) + 1 : data.index(b"\0", middle)].decode()


def pack_program(folder, build, compiler, case):
    """Compiles a case; returns the manifest's entry."""
    from gpu_check.cases import Layer
    from gpu_check.pack_layers import layer_of, write_data

    translate, stem = build / "bin" / "kvc-translate", folder / "programs" / case.name
    source, ptx, library, object_file, data = (
        stem.with_name(stem.name + suffix) for suffix in (".mlir", ".ptx", ".so", ".o", ".npz")
    )
    # Any driver of CUDA 12 takes PTX 8.0.
    options = ["--ptx-version=80"]
    options += [f"--split={case.split}"] if case.split else []
    others = {}
    if isinstance(case, Layer):
        layer = layer_of(case.layer)
        source.write_text(layer.text())
        write_data(layer, data)
        options.append("--cache-page=16")
        others["data"] = str(data.relative_to(folder))
    else:
        source.write_text(case.text)
        if case.cluster:
            plan = f"--kvc-plan=cluster={case.cluster}"
            run(build / "bin" / "kvc-opt", plan, source, "-o", source)
    name = case.name.replace("-", "_").replace(".", "_")
    to_object = ["--kvc-to-object", "--target=gpu", f"--program-name={name}"]
    run(translate, *to_object, *options, source, "-o", object_file)
    ptx.write_text(ptx_of(object_file))
    run(compiler, "-shared", "-o", library, object_file)
    object_file.unlink()
    print(f"gpu-check: packed {case.name}")
    return {
        **others,
        "name": case.name,
        "query": f"{name}_program_query",
        "library": str(library.relative_to(folder)),
        "ptx": str(ptx.relative_to(folder)),
        "opcodes": opcodes(ptx.read_text()),
    }


def pack_programs(folder, build, compiler, cases):
    """Compiles the cases, as many at once as there are processors."""
    (folder / "programs").mkdir()
    with ThreadPoolExecutor(os.cpu_count()) as executor:
        return list(executor.map(lambda case: pack_program(folder, build, compiler, case), cases))


def pack_libraries(folder, build, compiler):
    """Links runtime and emulator once more, so that they need nothing but libc."""
    libraries = folder / "lib"
    libraries.mkdir()
    objects = build / "lib" / "Emulator" / "Driver" / "CMakeFiles" / "KVCEmulatorDriver.dir"
    whole = ["-Wl,--whole-archive", "{}", "-Wl,--no-whole-archive"]
    link = [compiler, "-shared", "-static-libstdc++", "-static-libgcc", "-Wl,-Bsymbolic"]
    link += [
        "-Wl,--gc-sections",
        "-Wl,--exclude-libs,libstdc++.a:libgcc.a:libgcc_eh.a",
        "-s",
        "-pthread",
    ]
    static = build / "lib" / "libkvc_rt.a"
    run(*link, "-o", libraries / "libkvc_rt.so", *(w.format(static) for w in whole), "-ldl")
    emulator = build / "lib" / "libKVCEmulator.a"
    exports = ROOT / "lib" / "Emulator" / "Driver" / "exports.map"
    run(
        *link,
        f"-Wl,--version-script={exports}",
        "-o",
        libraries / "libkvc_emulator_cuda.so",
        *sorted(objects.glob("*.o")),
        emulator,
        "-ldl",
    )


def check_dependencies(folder):
    """Refuses a library that needs more than the C library."""
    allowed = ("linux-vdso.so", "libc.so", "libm.so", "libdl.so", "libpthread.so", "ld-linux")
    for library in sorted(folder.rglob("*.so")):
        for line in run("ldd", library).splitlines():
            name = pathlib.Path(line.split()[0]).name
            if not name.startswith(allowed) and "statically linked" not in line:
                sys.exit(f"gpu-check: {library} needs {name}")


def pack_sources(folder):
    """Copies what tools/gpu_check/build-libraries.sh compiles, if it has to."""
    source = folder / "source"
    headers = ("include/kvc-rt", "include/kvc-emulator", "include/kvc/Emulator")
    for part in ("lib/Runtime", "lib/Emulator", *headers):
        shutil.copytree(ROOT / part, source / part)


def pack_scripts(folder):
    """Copies the checks, the package kvc over the runtime alone, and modules of the tests."""
    tools, check, python = ROOT / "tools", folder / "gpu_check", folder / "python"
    ignore = shutil.ignore_patterns(
        "__pycache__", "pack.py", "pack_layers.py", "kvc_ctypes.py"
    )
    shutil.copytree(tools / "gpu_check", check, ignore=ignore)
    shutil.copy(tools / "gpu-check.py", folder)
    shutil.copy(tools / "compare_triton" / "kernels.py", check / "triton_kernels.py")
    ignore = shutil.ignore_patterns("__pycache__", "*.cpp", "*.h", "*.so")
    shutil.copytree(ROOT / "python" / "kvc", python / "kvc", ignore=ignore)
    shutil.copy(tools / "gpu_check" / "kvc_ctypes.py", python / "kvc" / "_kvc.py")
    for name in TESTS:
        shutil.copy(ROOT / "test" / "python" / f"{name}.py", python)


def commit():
    """Returns the commit of the source, with a plus if files were changed."""
    git = ["git", "-C", str(ROOT)]
    done = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True)
    if done.returncode != 0:
        return "unknown"
    status = subprocess.run(
        [*git, "status", "--porcelain", "--untracked-files=no"], capture_output=True, text=True
    )
    return done.stdout.strip() + ("+" if status.stdout.strip() else "")


def main():
    parser = argparse.ArgumentParser(prog="gpu-check.sh pack")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    folder, build = arguments.folder.resolve(), arguments.build.resolve()
    if folder.exists() and any(folder.iterdir()):
        sys.exit(f"gpu-check: {folder} is not empty")
    folder.mkdir(parents=True, exist_ok=True)
    folders = (build / "python", ROOT / "test" / "python", ROOT / "test" / "Corpus")
    sys.path[:0] = map(str, folders)
    from gpu_check.cases import CASES, SMALL

    cases = [case for case in CASES if not arguments.small or case.name in SMALL]
    programs = pack_programs(folder, build, os.environ.get("CC", "gcc"), cases)
    pack_libraries(folder, build, os.environ.get("CXX", "g++"))
    check_dependencies(folder)
    pack_sources(folder)
    pack_scripts(folder)
    manifest = {"version": 2, "commit": commit(), "programs": programs}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if size > LIMIT:
        sys.exit(f"gpu-check: the pack has {size / 1e6:.1f} MB, more than {LIMIT / 1e6:.0f}")
    print(f"gpu-check: {folder}: {len(programs)} programs, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
