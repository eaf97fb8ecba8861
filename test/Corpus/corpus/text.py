"""MLIR text of a module: functions, tensors, constants and linalg.generic.

A `Function` writes its operations top down. A `Tensor` is the name of a value with its
shape; an entry of a shape, a *size*, is an int, or the name of an index value where the
size is not known before the call.
"""

import math
import textwrap
from dataclasses import dataclass, field

NEGATIVE_INFINITY = {"bf16": "0xFF80", "f32": "0xFF800000", "f64": "0xFFF0000000000000"}
LARGEST = {
    "bf16": 2.0**127 * (2 - 2**-7),
    "f32": 2.0**127 * (2 - 2**-23),
    "f64": 2.0**1023 * (2 - 2**-52),
}


def is_float(dtype):
    return dtype in LARGEST


def wide(dtype):
    """The type that PyTorch code upcasts to, where exactness matters: f32, if f64 is not in use."""
    return "f64" if dtype == "f64" else "f32"


def literal(value, dtype):
    """Returns a constant of the given type in MLIR's spelling."""
    if not is_float(dtype):
        return str(value)
    if value == -math.inf:
        return NEGATIVE_INFINITY[dtype]
    # Nine digits say an f32 exactly, and do not depend on the machine's math library.
    digits = repr(float(value)) if dtype == "f64" else f"{value:.9g}"
    mantissa, e, exponent = digits.partition("e")
    return (mantissa if "." in mantissa else mantissa + ".0") + e + exponent


def tensor_type(shape, dtype):
    sizes = "".join(f"{size}x" if isinstance(size, int) else "?x" for size in shape)
    return f"tensor<{sizes}{dtype}>"


@dataclass(frozen=True)
class Scalar:
    name: str
    type: str


@dataclass(frozen=True)
class Tensor:
    function: "Function" = field(repr=False)
    name: str
    shape: tuple
    dtype: str

    @property
    def rank(self):
        return len(self.shape)

    @property
    def type(self):
        return tensor_type(self.shape, self.dtype)


class Module:
    """The functions of a file, and the aliases of the maps that they use."""

    def __init__(self):
        self.maps = {}
        self.functions = []

    def map(self, num_dims, results):
        """Returns the alias of the map from `num_dims` dimensions to the given results."""
        dims = ", ".join(f"d{i}" for i in range(num_dims))
        text = f"affine_map<({dims}) -> ({', '.join(map(str, results))})>"
        return self.maps.setdefault(text, f"#map{len(self.maps) or ''}")

    def text(self, header=""):
        aliases = "".join(f"{alias} = {text}\n" for text, alias in self.maps.items())
        functions = "\n".join(function.text() for function in self.functions)
        return f"{header}{aliases}module {{\n{functions}}}\n"


class Function:
    """One function; joins the module when it is made."""

    def __init__(self, module, name):
        self.module = module
        self.name = name
        self.arguments = []
        self.results = []
        self.constants = {}
        self.lines = []
        self.sizes = {}
        self.count = 0
        module.functions.append(self)

    # --- Values --------------------------------------------------------------

    def fresh(self):
        self.count += 1
        return f"%{self.count - 1}"

    def argument(self, name, shape, dtype, attribute=""):
        """Adds an argument. `measure` defines the names of sizes in its shape."""
        tensor = Tensor(self, f"%{name}", tuple(shape), dtype)
        self.arguments.append(f"{tensor.name}: {tensor.type}{attribute and f' {{{attribute}}}'}")
        return tensor

    def give(self, tensor, attribute=""):
        """Adds a result."""
        self.results.append((tensor, attribute))

    def constant(self, value, dtype):
        """Returns a scalar constant; equal ones are one."""
        return self._constant(literal(value, dtype), dtype, is_float(dtype))

    def dense(self, values, dtype):
        """Returns a constant tensor of rank 1."""
        text = f"dense<[{', '.join(literal(value, dtype) for value in values)}]>"
        shape = (len(values),)
        scalar = self._constant(text, tensor_type(shape, dtype), True)
        return Tensor(self, scalar.name, shape, dtype)

    def _constant(self, text, type, numbered):
        if (text, type) not in self.constants:
            if numbered:
                count = sum(name.startswith("%cst") for name in self.constants.values())
                name = f"%cst_{count}" if count else "%cst"
            else:
                name = f"%c{text.replace('-', 'm')}{'' if type == 'index' else '_' + type}"
            self.constants[text, type] = name
        return Scalar(self.constants[text, type], type)

    # --- Operations ----------------------------------------------------------

    def emit(self, text):
        self.lines.append(text)

    def comment(self, text):
        self.emit(f"// {text}")

    def tensor(self, text, shape, dtype):
        """Writes an operation that gives a tensor."""
        result = Tensor(self, self.fresh(), tuple(shape), dtype)
        self.emit(f"{result.name} = {text}")
        return result

    def scalar(self, text, type):
        """Writes an operation that gives a scalar."""
        result = Scalar(self.fresh(), type)
        self.emit(f"{result.name} = {text}")
        return result

    def measure(self, tensor, axis):
        """Defines the name that a size of an argument has in its shape; an int needs none."""
        size = tensor.shape[axis]
        if not isinstance(size, int):
            index = self.constant(axis, "index").name
            self.emit(f"{size} = tensor.dim {tensor.name}, {index} : {tensor.type}")

    def product(self, a, b):
        """Returns the product of two sizes."""
        return self._arithmetic("arith.muli", a, b, lambda a, b: a * b, neutral=1)

    def sum(self, a, b):
        """Returns the sum of two sizes."""
        return self._arithmetic("arith.addi", a, b, lambda a, b: a + b, neutral=0)

    def _arithmetic(self, op, a, b, compute, neutral):
        if isinstance(a, int) and isinstance(b, int):
            return compute(a, b)
        if neutral in (a, b):
            return b if a == neutral else a
        if (op, a, b) not in self.sizes:
            text = f"{op} {self.index(a)}, {self.index(b)} : index"
            self.sizes[op, a, b] = self.scalar(text, "index").name
        return self.sizes[op, a, b]

    def index(self, size):
        """Returns the name of an index value that holds a size."""
        return self.constant(size, "index").name if isinstance(size, int) else size

    def generic(self, inputs, maps, init, body, reduces=()):
        """Writes a linalg.generic and returns its results.

        Parameters
        ----------
        inputs : list of Tensor
        maps : list of list
            The results of each indexing map, of inputs and then of `init`; an entry
            is a dimension, like "d1", or 0.
        init : Tensor, or list of Tensor
        body : function of (Body, a Scalar per input, a Scalar per init)
            Returns what is yielded, one Scalar or a list.
        reduces : list of int
            Dimensions that are reductions.
        """
        inits = init if isinstance(init, list) else [init]
        num_dims = 1 + max((int(e[1:]) for m in maps for e in m if e != 0), default=-1)
        aliases = ", ".join(self.module.map(num_dims, m) for m in maps)
        kinds = ["reduction" if d in reduces else "parallel" for d in range(num_dims)]
        kinds = ", ".join(f'"{kind}"' for kind in kinds)
        results = [Tensor(self, self.fresh(), t.shape, t.dtype) for t in inits]
        operands = operand_list("ins", inputs) + operand_list("outs", inits)
        self.emit(f"{', '.join(t.name for t in results)} = linalg.generic {{")
        self.emit(f"    indexing_maps = [{aliases}], iterator_types = [{kinds}]}}")
        self.emit(f"    {operands.strip()} {{")
        names = [f"in_{i}" if i else "in" for i in range(len(inputs))]
        names += [f"out_{i}" if i else "out" for i in range(len(inits))]
        scalars = [Scalar(f"%{n}", t.dtype) for n, t in zip(names, [*inputs, *inits])]
        self.emit(f"^bb0({', '.join(f'{s.name}: {s.type}' for s in scalars)}):")
        yielded = body(Body(self), *scalars)
        yielded = yielded if isinstance(yielded, list) else [yielded]
        types = ", ".join(s.type for s in yielded)
        self.emit(f"  linalg.yield {', '.join(s.name for s in yielded)} : {types}")
        out = ", ".join(t.type for t in results)
        self.emit(f"}} -> {out if len(results) == 1 else f'({out})'}")
        return results if isinstance(init, list) else results[0]

    def text(self):
        tensors = (",\n" + " " * 10).join(t.type + (a and f" {{{a}}}") for t, a in self.results)
        head = f"  func.func @{self.name}("
        arguments = (",\n" + " " * len(head)).join(self.arguments)
        constants = [
            line
            for (value, type), name in self.constants.items()
            for line in textwrap.wrap(
                f"{name} = arith.constant {value} : {type}", 96, subsequent_indent="    "
            )
        ]
        names = ", ".join(t.name for t, _ in self.results)
        types = ", ".join(t.type for t, _ in self.results)
        body = [*constants, *self.lines, f"return {names} : {types}"]
        lines = "".join(f"    {line}\n" for line in body)
        return f"{head}{arguments})\n      -> ({tensors}) {{\n{lines}  }}\n"


def operand_list(word, values):
    """Returns ` word(names : types)`, or nothing."""
    if not values:
        return ""
    names, types = ", ".join(x.name for x in values), ", ".join(x.type for x in values)
    return f" {word}({names} : {types})"


class Body:
    """Writes the operations inside a linalg.generic."""

    def __init__(self, function):
        self.function = function

    def op(self, text, type):
        result = Scalar(self.function.fresh(), type)
        self.function.emit(f"  {result.name} = {text}")
        return result

    def arithmetic(self, op, *operands):
        """An operation whose operands and result have one type."""
        names = ", ".join(operand.name for operand in operands)
        return self.op(f"{op} {names} : {operands[0].type}", operands[0].type)

    def compare(self, op, a, b):
        """An operation such as `arith.cmpi sle`, which gives an i1."""
        return self.op(f"{op}, {a.name}, {b.name} : {a.type}", "i1")

    def select(self, condition, a, b):
        return self.op(f"arith.select {condition.name}, {a.name}, {b.name} : {a.type}", a.type)

    def cast(self, a, type):
        """Casts among floats, among integers and index, and from integers to floats."""
        if a.type == type:
            return a
        return self.op(f"{_cast_name(a.type, type)} {a.name} : {a.type} to {type}", type)

    def index(self, dim):
        return self.op(f"linalg.index {dim} : index", "index")

    def extract(self, tensor, indices):
        names = ", ".join(index.name for index in indices)
        return self.op(f"tensor.extract {tensor.name}[{names}] : {tensor.type}", tensor.dtype)

    def constant(self, value, type):
        return self.function.constant(value, type)

    def size(self, size):
        return Scalar(self.function.index(size), "index")


def _cast_name(source, target):
    if "index" in (source, target):
        return "arith.index_cast"
    if is_float(source):
        return "arith.extf" if LARGEST[source] < LARGEST[target] else "arith.truncf"
    return "arith.sitofp"
