"""Functions of tensors alone: names, ranks, and the functions that a GPU has no library for."""

import math

import numpy as np
import pytest

import kvc
from targets import CPUS, DEFINITIONS, DEVICES

TARGETS = [DEFINITIONS[0], CPUS[0], *DEVICES]
FUNCTIONS = {
    "math.exp": np.exp,
    "math.expm1": np.expm1,
    "math.log": np.log,
    "math.log2": np.log2,
    "math.log1p": np.log1p,
    "math.sqrt": np.sqrt,
    "math.rsqrt": lambda x: 1 / np.sqrt(x),
    "math.tanh": np.tanh,
    "math.erf": np.vectorize(math.erf, otypes=[np.float64]),
    "math.floor": np.floor,
    "math.ceil": np.ceil,
    "math.roundeven": np.round,
    "math.absf": np.abs,
}


@pytest.fixture(params=TARGETS, ids=str)
def target(request):
    return request.param


def unary(operation):
    return f"""
func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {{
  %y = {operation} %x : tensor<?xf32>
  return %y : tensor<?xf32>
}}
"""


def arguments_of(operation):
    """Returns numbers of all sizes that the function takes, some of them not normal."""
    rng = np.random.default_rng(0)
    if operation in ("math.exp", "math.expm1"):
        return rng.uniform(-80, 80, 4000).astype(np.float32)
    sizes = np.exp2(rng.uniform(-140, 30, 4000))
    if operation in ("math.log", "math.log2", "math.log1p", "math.sqrt", "math.rsqrt"):
        return sizes.astype(np.float32)
    return (sizes * rng.choice([-1, 1], 4000)).astype(np.float32)


@pytest.mark.parametrize("operation", FUNCTIONS)
def test_functions(programs, stream_of, target, operation):
    x = arguments_of(operation)
    got = programs(unary(operation), target)["f"](x, stream=stream_of(target))
    want = FUNCTIONS[operation](x.astype(np.float64))
    error = np.abs(got - want) / np.maximum(np.abs(want), 2.0**-126)
    assert error.max() < 2e-6


@pytest.mark.parametrize("target", DEVICES, ids=str)
@pytest.mark.parametrize("operation", ["math.sin", "math.cbrt", "math.atan", "math.sinh"])
def test_functions_refused(programs, target, operation):
    with pytest.raises(kvc.CompileError, match=f"no GPU kernel for '{operation}' of 'f32'"):
        programs(unary(operation), target)


def test_square_as_power(programs, stream_of, target):
    text = """
func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  %two = arith.constant dense<2.0> : tensor<1xf32>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32):
      %p = arith.constant 2.0 : f32
      %c = math.powf %a, %p : f32
      linalg.yield %c : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}
"""
    x = np.array([-3, -0.5, 0, 2, 1e10], np.float32)
    got = programs(text, target)["f"](x, stream=stream_of(target))
    np.testing.assert_allclose(got, x * x, rtol=1e-6)


@pytest.mark.parametrize("count", [1, 2])
def test_rank_zero(programs, stream_of, target, count):
    names = [f"%x{i}" for i in range(count)]
    inputs = ", ".join(f"{name}: tensor<f32>" for name in names)
    text = f"""
func.func @f({inputs}) -> tensor<f32> {{
  %y = arith.addf {names[0]}, {names[-1]} : tensor<f32>
  return %y : tensor<f32>
}}
"""
    numbers = [np.array(i + 1.5, np.float32) for i in range(count)]
    got = programs(text, target)["f"](*numbers, stream=stream_of(target))
    assert got.shape == () and got == numbers[0] + numbers[-1]


@pytest.mark.parametrize("name", ["a-b", "a b", "\\C3\\A9", "a.b"])
def test_names(programs, stream_of, target, name):
    text = unary("math.absf").replace("@f", f'@"{name}"')
    program = programs(text, target)
    (function,) = program.values()
    got = function(np.array([-2, 3], np.float32), stream=stream_of(target))
    assert (got == [2, 3]).all()


def test_name_of_a_library(programs):
    text = unary("math.absf").replace("@f", "@memcpy")
    with pytest.raises(kvc.CompileError, match="a name that is not one of the C library"):
        programs(text, DEFINITIONS[0])
    got = programs(text, CPUS[0])["memcpy"](np.array([-2], np.float32))
    assert got == [2]
