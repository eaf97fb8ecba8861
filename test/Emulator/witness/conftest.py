"""Fixtures: the emulated driver, and the compilers that make kernels for it.

A compiler that is missing skips its tests, unless KVC_REQUIRE names it.
"""

import os
import pathlib
import shutil
import subprocess

import pytest

from device import Device, Module


def miss(name, reason):
    """Skips a test, or fails it if `name` must be there."""
    if name in os.environ.get("KVC_REQUIRE", "").replace(" ", "").split(","):
        pytest.fail(f"KVC_REQUIRE names '{name}': {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def device(record_testsuite_property):
    """The emulated driver. The report of the run lists all that it was given."""
    emulated = Device()
    yield emulated
    record_testsuite_property("opcodes", " ".join(sorted(emulated.opcodes)))


@pytest.fixture(scope="session")
def nvcc():
    """The path of CUDA's compiler."""
    path = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if not path:
        miss("nvcc", "expected nvcc on PATH or in /usr/local/cuda/bin")
    return path


@pytest.fixture(
    scope="session",
    params=["-arch=sm_80", "-arch=sm_90", "-arch=sm_80 -G -DNDEBUG"],
    ids=["sm_80", "sm_90", "unoptimised"],
)
def cuda_module(request, device, nvcc, tmp_path_factory):
    """kernels.cu, compiled for one architecture; with -G, not optimised."""
    source = pathlib.Path(__file__).parent / "kernels.cu"
    ptx = tmp_path_factory.mktemp("cuda") / "kernels.ptx"
    command = [nvcc, "-ptx", *request.param.split(), "-std=c++17", source, "-o", ptx]
    subprocess.run(command, check=True)
    module = Module(device, ptx.read_text())
    yield module
    module.unload()


@pytest.fixture(scope="session")
def triton(tmp_path_factory):
    """Triton's compiler; it needs no device to compile."""
    os.environ["TRITON_CACHE_DIR"] = str(tmp_path_factory.mktemp("triton"))
    try:
        import triton
    except ImportError as error:
        miss("triton", f"expected Triton ({error})")
    return triton
