"""Kernels of Triton's compiler give what NumPy gives."""

import importlib

import ml_dtypes
import numpy as np
import pytest

from device import Empty, In, Module, opcodes

#: Triton's names of types, and NumPy's.
TYPES = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8, "fp32": np.float32}


class Compiler:
    """Compiles the kernels of triton_kernels.py for sm_80."""

    def __init__(self, triton, device, record):
        self.triton, self.device, self.record = triton, device, record
        self.kernels = importlib.import_module("triton_kernels")

    def run(self, name, grid, arguments, constants, **options):
        """Runs a kernel.

        Parameters
        ----------
        name : str
            The kernel.
        grid : tuple of int
            Its programs.
        arguments : dict of str to pair
            Triton's type of each argument, then what Module.run takes.
        constants : dict
            The tl.constexpr parameters.
        options
            Of the compiler: num_warps, num_stages.
        """
        function = getattr(self.kernels, name)
        names = function.arg_names
        types = {key: arguments[key][0] if key in arguments else "constexpr" for key in names}
        # Arrays are aligned to 16 bytes, which makes accesses wide.
        aligned = {
            (index,): [["tt.divisibility", 16]]
            for index, key in enumerate(names)
            if types[key].startswith("*") or key in ("k", "n")
        }
        source = self.triton.compiler.ASTSource(
            fn=function,
            signature=types,
            constexprs={(names.index(key),): value for key, value in constants.items()},
            attrs=aligned,
        )
        target = self.triton.backends.compiler.GPUTarget("cuda", 80, 32)
        compiled = self.triton.compile(source, target=target, options=options)
        self.ptx = compiled.asm["ptx"]
        self.record("opcodes", " ".join(opcodes(self.ptx)))
        module = Module(self.device, self.ptx)
        results = module.run(
            name,
            grid,
            (32 * compiled.metadata.num_warps,),
            *[arguments[key][1] for key in names if key in arguments],
            shared=compiled.metadata.shared,
        )
        module.unload()
        return results


@pytest.fixture
def compiler(triton, device, record_property):
    """Triton's compiler and the emulated device."""
    importlib.import_module("triton.compiler")
    importlib.import_module("triton.backends.compiler")
    return Compiler(triton, device, record_property)


@pytest.fixture
def random():
    """Numbers that are the same in each run."""
    return np.random.default_rng(11)


def test_vector_add(compiler, random):
    n = 3008
    x, y = random.normal(size=(2, n)).astype(np.float32)
    (out,) = compiler.run(
        "vector_add",
        (3,),
        {
            "x": ("*fp32", In(x)),
            "y": ("*fp32", In(y)),
            "out": ("*fp32", Empty(n, np.float32)),
            "n": ("i32", np.int32(n)),
        },
        {"BLOCK": 1024},
    )
    assert (out == x + y).all()


def test_row_softmax(compiler, random):
    rows, columns = 5, 781
    x = (random.normal(size=(rows, columns)) * 5).astype(np.float32)
    (out,) = compiler.run(
        "row_softmax",
        (rows,),
        {
            "x": ("*fp32", In(x)),
            "out": ("*fp32", Empty((rows, columns), np.float32)),
            "columns": ("i32", np.int32(columns)),
        },
        {"BLOCK": 1024},
    )
    power = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    expected = power / power.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(out, expected, rtol=2e-6, atol=1e-9)


@pytest.mark.parametrize("element", ["fp16", "bf16"])
def test_matmul(compiler, random, element):
    m, n, k = 80, 96, 160
    a = random.normal(size=(m, k)).astype(TYPES[element])
    b = random.normal(size=(k, n)).astype(TYPES[element])
    (out,) = compiler.run(
        "matmul",
        (2, 2),
        {
            "a": (f"*{element}", In(a)),
            "b": (f"*{element}", In(b)),
            "c": ("*fp32", Empty((m, n), np.float32)),
            "m": ("i32", np.int32(m)),
            "n": ("i32", np.int32(n)),
            "k": ("i32", np.int32(k)),
        },
        {"BM": 64, "BN": 64, "BK": 32, "INTEGER": False},
        num_stages=3,
    )
    assert "mma.sync" in compiler.ptx and "cp.async" in compiler.ptx
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    # H100 keeps 25 bits of each term of a sum.
    bound = 2.0**-20 * (np.abs(wide_a) @ np.abs(wide_b))
    assert (np.abs(out - wide_a @ wide_b) <= bound).all()


def test_integer_matmul(compiler, random):
    m, n, k = 80, 96, 160
    a = random.integers(-128, 128, (m, k)).astype(np.int8)
    b = random.integers(-128, 128, (k, n)).astype(np.int8)
    (out,) = compiler.run(
        "matmul",
        (2, 2),
        {
            "a": ("*i8", In(a)),
            "b": ("*i8", In(b)),
            "c": ("*i32", Empty((m, n), np.int32)),
            "m": ("i32", np.int32(m)),
            "n": ("i32", np.int32(n)),
            "k": ("i32", np.int32(k)),
        },
        {"BM": 64, "BN": 64, "BK": 64, "INTEGER": True},
        num_stages=3,
    )
    assert "mma.sync" in compiler.ptx
    assert (out == a.astype(np.int64) @ b.astype(np.int64)).all()


@pytest.mark.parametrize("element", ["fp16", "bf16"])
def test_attention(compiler, random, element):
    heads, tokens, dims = 2, 100, 64
    q, k, v = random.normal(size=(3, heads, tokens, dims)).astype(TYPES[element])
    scale = np.float32(dims**-0.5)
    (out,) = compiler.run(
        "attention",
        (2, heads),
        {
            "q": (f"*{element}", In(q)),
            "k": (f"*{element}", In(k)),
            "v": (f"*{element}", In(v)),
            "out": ("*fp32", Empty((heads, tokens, dims), np.float32)),
            "tokens": ("i32", np.int32(tokens)),
            "scale": ("fp32", scale),
        },
        {"D": dims, "BM": 64, "BN": 32},
        num_stages=3,
    )
    assert "mma.sync" in compiler.ptx and "cp.async" in compiler.ptx
    q, k, v = (array.astype(np.float64) for array in (q, k, v))
    score = q @ k.transpose(0, 2, 1) * scale
    score[:, ~np.tri(tokens, dtype=bool)] = -np.inf
    power = np.exp(score - score.max(axis=-1, keepdims=True))
    weight = power / power.sum(axis=-1, keepdims=True)
    # The weights are rounded to the element's type before they meet v.
    bound = (2.0**-10 if element == "fp16" else 2.0**-7) * (weight @ np.abs(v)) + 1e-6
    assert (np.abs(out - weight @ v) <= bound).all()
