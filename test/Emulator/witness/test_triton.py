"""Kernels of Triton's compiler give what NumPy gives."""

import importlib

import ml_dtypes
import numpy as np
import pytest

from device import Empty, In, Module, Out

#: Triton's names of types, and NumPy's.
TYPES = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8, "fp32": np.float32}


class Compiler:
    """Compiles the kernels of triton_kernels.py."""

    def __init__(self, triton, device):
        self.triton, self.device = triton, device
        self.kernels = importlib.import_module("triton_kernels")

    def run(self, name, grid, arguments, constants, arch=80, check=True, **options):
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
        arch : int
            The architecture, such as 80.
        check : bool
            Whether to look for races. Triton lets several threads write one value
            to one place, which is one.
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
        target = self.triton.backends.compiler.GPUTarget("cuda", arch, 32)
        compiled = self.triton.compile(source, target=target, options=options)
        self.ptx = compiled.asm["ptx"]
        module = Module(self.device, self.ptx)
        results = module.run(
            name,
            grid,
            (32 * compiled.metadata.num_warps,),
            *[arguments[key][1] for key in names if key in arguments],
            shared=compiled.metadata.shared,
            check=check,
        )
        module.unload()
        return results


@pytest.fixture
def compiler(triton, device):
    """Triton's compiler and the emulated device."""
    importlib.import_module("triton.compiler")
    importlib.import_module("triton.backends.compiler")
    return Compiler(triton, device)


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


@pytest.mark.parametrize("warps", [1, 4, 8])
def test_row_scan(compiler, random, warps):
    x = random.integers(-5, 5, (16, 256)).astype(np.float32)
    (out,) = compiler.run(
        "row_scan",
        (1,),
        {"x": ("*fp32", In(x)), "out": ("*fp32", Empty(x.shape, np.float32))},
        {"ROWS": 16, "COLUMNS": 256},
        num_warps=warps,
    )
    assert (out == np.cumsum(x, axis=1)).all()


@pytest.mark.parametrize("arch", [80, 90])
def test_sort(compiler, random, arch):
    x = random.normal(size=512).astype(np.float32)
    (out,) = compiler.run(
        "sort",
        (1,),
        {"x": ("*fp32", In(x)), "out": ("*fp32", Empty(512, np.float32))},
        {"SIZE": 512},
        arch=arch,
    )
    assert (out == np.sort(x)).all()


def test_scatter_add(compiler, random):
    n = 1000
    x = random.integers(-50, 50, n).astype(np.float32)
    where = random.integers(0, 40, n).astype(np.int32)
    total, largest = compiler.run(
        "scatter_add",
        (4,),
        {
            "x": ("*fp32", In(x)),
            "where": ("*i32", In(where)),
            "total": ("*fp32", Out(np.zeros(40, np.float32))),
            "largest": ("*fp32", Out(np.full(40, -1000, np.float32))),
            "n": ("i32", np.int32(n)),
        },
        {"BLOCK": 256},
    )
    for index in range(40):
        assert total[index] == x[where == index].sum()
        assert largest[index] == x[where == index].max(initial=-1000)


@pytest.mark.parametrize("warps", [1, 16])
def test_layer_norm(compiler, random, warps):
    rows, columns = 3, 700
    x = random.normal(size=(rows, columns)).astype(np.float16)
    weight, bias = random.normal(size=(2, columns)).astype(np.float16)
    (out,) = compiler.run(
        "layer_norm",
        (rows,),
        {
            "x": ("*fp16", In(x)),
            "weight": ("*fp16", In(weight)),
            "bias": ("*fp16", In(bias)),
            "out": ("*fp16", Empty(x.shape, np.float16)),
            "columns": ("i32", np.int32(columns)),
            "epsilon": ("fp32", np.float32(1e-5)),
        },
        {"BLOCK": 1024},
        num_warps=warps,
    )
    wide = x.astype(np.float64)
    centred = wide - wide.mean(axis=1, keepdims=True)
    expected = centred / np.sqrt(wide.var(axis=1, keepdims=True) + 1e-5)
    expected = expected * weight.astype(np.float64) + bias.astype(np.float64)
    np.testing.assert_allclose(out, expected, rtol=2e-3, atol=2e-3)


def test_int4_matmul(compiler, random):
    m, n, k = 32, 64, 64
    a = random.normal(size=(m, k)).astype(np.float16)
    b = random.integers(-8, 8, (k, n))
    packed = (b[::2] & 15 | (b[1::2] & 15) << 4).astype(np.uint8).view(np.int8)
    (out,) = compiler.run(
        "int4_matmul",
        (1,),
        {
            "a": ("*fp16", In(a)),
            "b": ("*i8", In(packed)),
            "c": ("*fp32", Empty((m, n), np.float32)),
        },
        {"M": m, "N": n, "K": k},
    )
    wide = a.astype(np.float64)
    assert (np.abs(out - wide @ b) <= 2.0**-20 * (np.abs(wide) @ np.abs(b))).all()


@pytest.mark.parametrize("precision, bits", [("tf32", 9), ("tf32x3", 18), ("ieee", 20)])
def test_tf32_matmul(compiler, random, precision, bits):
    m, n, k = 32, 32, 64
    a = random.normal(size=(m, k)).astype(np.float32)
    b = random.normal(size=(k, n)).astype(np.float32)
    (out,) = compiler.run(
        "tf32_matmul",
        (1,),
        {
            "a": ("*fp32", In(a)),
            "b": ("*fp32", In(b)),
            "c": ("*fp32", Empty((m, n), np.float32)),
        },
        {"M": m, "N": n, "K": k, "PRECISION": precision},
        check=False,
    )
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    bound = 2.0**-bits * (np.abs(wide_a) @ np.abs(wide_b))
    assert (np.abs(out - wide_a @ wide_b) <= bound).all()


def test_histogram(compiler, random):
    x = random.integers(0, 64, 1024).astype(np.int32)
    (counts,) = compiler.run(
        "histogram",
        (1,),
        {"x": ("*i32", In(x)), "counts": ("*i32", Empty(64, np.int32))},
        {"SIZE": 1024},
        check=False,
    )
    assert (counts == np.bincount(x, minlength=64)).all()


def test_round_trip(compiler, random):
    n = 256
    x = (random.normal(size=n) * 10.0 ** random.integers(-4, 4, n)).astype(np.float32)
    (out,) = compiler.run(
        "round_trip",
        (1,),
        {"x": ("*fp32", In(x)), "out": ("*fp32", Empty((4, n), np.float32))},
        {"SIZE": n},
        arch=90,
    )
    expected = [
        np.clip(x, -448, 448).astype(ml_dtypes.float8_e4m3fn),
        np.clip(x, -57344, 57344).astype(ml_dtypes.float8_e5m2),
        x.astype(np.float16),
        x.astype(ml_dtypes.bfloat16),
    ]
    for row, (got, wanted) in enumerate(zip(out, expected)):
        assert (got == wanted.astype(np.float32)).all(), row
