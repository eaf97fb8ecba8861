# Settings of the lit tests, for every build; lit.site.cfg.py holds what one
# build adds: its folders, its compiler, what it was configured to build.

import ctypes
import importlib.util
import os

import lit.formats
import lit.util
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

config.name = "kvc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.kvc_obj_root, "test")
config.suffixes = [".mlir", ".test", ".c", ".ptx"]
config.excludes = ["Inputs", "lib", "Unit", "python", "CMakeLists.txt"]

# Without the compiler only the scripts and the emulator have something to test.
if not config.kvc_build_compiler:
    config.excludes += [
        entry.name
        for entry in os.scandir(config.test_source_root)
        if entry.is_dir() and entry.name not in ("Harness", "Fuzz")
    ]

# A variable that is defined but not meant to leave its case starts with `$`.
config.environment["FILECHECK_OPTS"] = "-enable-var-scope"
llvm_config.with_system_environment(
    ["HOME", "TMP", "TEMP", "TMPDIR", "KVC_TEST_FULL", "ASAN_OPTIONS", "UBSAN_OPTIONS"]
)

full = os.environ.get("KVC_TEST_FULL", "0") not in ("", "0")
# A test that takes longer than this, in seconds, hangs. Needs psutil, which a
# Python of the user's choice may lack.
if lit_config.maxIndividualTestTimeIsSupported[0]:
    lit_config.maxIndividualTestTime = 7200 if full else 600


def find_cuda_tool(name):
    """Returns the path of a program of the CUDA toolkit, or None."""
    return lit.util.which(name) or lit.util.which(name, "/usr/local/cuda/bin")


def has_cuda_device():
    """Returns true if CUDA's driver can be loaded and sees a device."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return (
        driver.cuInit(0) == 0
        and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
        and count.value > 0
    )


def cpu_flags():
    """Returns the instruction sets that the host's first core names."""
    with open("/proc/cpuinfo") as info:
        for line in info:
            if line.startswith("flags"):
                return set(line.partition(":")[2].split())
    return set()


def add_features():
    """Adds what this machine and this run offer to the tests' features."""
    features = config.available_features
    flags = cpu_flags()
    needs = {
        "avx2": {"avx2", "fma", "f16c"},
        "avx512": {"avx512f", "avx512bw", "avx512vl", "avx512dq"},
        "avx512_bf16": {"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_bf16"},
        "amx": {"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_bf16", "avx512vbmi",
                "amx_tile", "amx_bf16"},  # fmt: skip
    }
    features.update(name for name, needed in needs.items() if needed <= flags)
    if config.kvc_build_compiler:
        features.add("compiler")
    features.update(name for name in ("ptxas", "nvcc") if find_cuda_tool(name))
    if importlib.util.find_spec("triton"):
        features.add("triton")
    if has_cuda_device():
        features.add("cuda")
    if full:
        features.add("full")
    if os.path.exists(os.path.join(config.kvc_tools_dir, "kvc-emulator-fuzz")):
        features.add("fuzzer")


def check_required():
    """Stops the run if a feature that must exist does not.

    The names come from `--param require=ptxas,cuda` or the variable KVC_REQUIRE.
    """
    required = lit_config.params.get("require", os.environ.get("KVC_REQUIRE", ""))
    for name in filter(None, (part.strip() for part in required.split(","))):
        if name not in config.available_features:
            tool = name in ("ptxas", "nvcc")
            places = " on PATH or in /usr/local/cuda/bin" if tool else ""
            lit_config.fatal(f"KVC_REQUIRE names '{name}', which was not found{places}")


def add_tools():
    """Lets RUN lines name programs without their folders."""
    llvm_config.add_tool_substitutions(
        [
            ToolSubst(name, unresolved="ignore")
            for name in ("kvc-opt", "kvc-translate", "kvc-run", "kvc-emu")
        ],
        [config.kvc_tools_dir],
    )
    llvm_config.add_tool_substitutions(
        ["FileCheck", "not", "count", "split-file", "llc", "opt"],
        [config.llvm_tools_dir],
    )
    config.substitutions += [
        ("%python", f'"{config.python_executable}"'),
        ("%cc", f'"{config.c_compiler}"'),
        ("%fuzz_seconds", "600" if full else "30"),
        ("%kvc_include", os.path.join(config.kvc_src_root, "include")),
        ("%kvc_lib", config.kvc_lib_dir),
        ("%kvc_tools", os.path.join(config.kvc_src_root, "tools")),
    ]
    if find_cuda_tool("ptxas"):
        config.substitutions.append(("%ptxas", f'"{find_cuda_tool("ptxas")}"'))


add_features()
check_required()
add_tools()
llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
llvm_config.with_environment("PATH", config.kvc_tools_dir, append_path=True)
