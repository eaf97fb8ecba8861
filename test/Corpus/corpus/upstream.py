"""Runs a module's functions as MLIR's own passes lower them; nothing of kvc takes part.

Needs mlir-opt, mlir-translate and llc on PATH, and a C compiler to link.
"""

import ctypes
import json
import pathlib
import re
import shutil
import subprocess

import numpy as np

PASSES = (
    "one-shot-bufferize{bufferize-function-boundaries=true"
    " function-boundary-type-conversion=identity-layout-map}",
    "func.func(convert-linalg-to-loops)",
    "memref-expand",
    "expand-strided-metadata",
    "lower-affine",
    "convert-scf-to-cf",
    "func.func(llvm-request-c-wrappers)",
    "arith-expand",
    "math-extend-to-supported-types",
    "convert-math-to-llvm",
    "convert-math-to-libm",
    "convert-to-llvm",
    "reconcile-unrealized-casts",
)


class Module:
    """A compiled module.

    Parameters
    ----------
    text : str
    folder : pathlib.Path
        For what is made on the way; created.
    cc : str
        The C compiler.
    """

    def __init__(self, text, folder, cc):
        folder.mkdir(parents=True, exist_ok=True)
        suffixes = (".mlir", ".llvm.mlir", ".ll", ".o", ".so")
        source, lowered, llvm, code, library = (str(folder / f"module{s}") for s in suffixes)
        pathlib.Path(source).write_text(without_double_expansion(text))
        unregistered = "--allow-unregistered-dialect"  # kvc's attributes
        passes = f"--pass-pipeline=builtin.module({','.join(PASSES)})"
        _run("mlir-opt", unregistered, source, passes, "-o", lowered)
        _run("mlir-translate", unregistered, "--mlir-to-llvmir", lowered, "-o", llvm)
        _run("llc", "-O1", "-filetype=obj", "-relocation-model=pic", llvm, "-o", code)
        helpers = pathlib.Path(shutil.which("mlir-opt")).resolve().parents[1] / "lib"
        names = ("mlir_c_runner_utils", "mlir_float16_utils")  # copies; casts of bf16
        libraries = [f"{helpers}/lib{name}.so" for name in names]
        _run(cc, "-shared", code, *libraries, f"-Wl,-rpath,{helpers}", "-lm", "-o", library)
        self._library = ctypes.CDLL(library)

    def call(self, name, arguments, result_types):
        """Calls a function.

        Parameters
        ----------
        arguments : list of array
        result_types : list of (rank, dtype)

        Returns
        -------
        list of array
        """
        descriptors = [_describe(np.array(array, order="C")) for array in arguments]
        members = [(f"r{i}", _descriptor(rank)) for i, (rank, _) in enumerate(result_types)]
        results = type("Results", (ctypes.Structure,), {"_fields_": members})()
        pointers = [ctypes.byref(descriptor) for descriptor, _ in descriptors]
        self._library[f"_mlir_ciface_{name}"](ctypes.byref(results), *pointers)
        views = [getattr(results, member) for member, _ in members]
        return [_array(view, dtype) for view, (_, dtype) in zip(views, result_types)]


def _run(*command):
    subprocess.run(command, check=True)


def without_double_expansion(text):
    """Returns the text with expansions of one axis to two of dynamic sizes as tensor.reshape.

    The pass expand-strided-metadata of LLVM 22 crashes on such a memref.expand_shape.
    """
    pattern = (
        r"%(\w+) = tensor\.expand_shape (%\w+) (\[\[.*\]\]) "
        r"output_shape \[([^\]]*)\] : (\S+) into (\S+)"
    )

    def reshape(match):
        name, source, groups, shape, type, result = match.groups()
        sizes = [size.strip() for size in shape.split(",")]
        dynamic = [sum(sizes[i].startswith("%") for i in group) for group in json.loads(groups)]
        if max(dynamic) < 2:
            return match.group()
        lines = []
        for i, size in enumerate(sizes):
            if not size.startswith("%"):
                sizes[i] = f"%size_{name}_{i}"
                lines.append(f"{sizes[i]} = arith.constant {size} : index")
        shape = f"tensor<{len(sizes)}xindex>"
        return "\n".join([
            *lines,
            f"%shape_{name} = tensor.from_elements {', '.join(sizes)} : {shape}",
            f"%{name} = tensor.reshape {source}(%shape_{name}) : ({type}, {shape}) -> {result}",
        ])

    return re.sub(pattern, reshape, text)


def _descriptor(rank):
    sizes = ctypes.c_int64 * rank
    pointers = [("base", ctypes.c_void_p), ("data", ctypes.c_void_p)]
    fields = [*pointers, ("offset", ctypes.c_int64), ("sizes", sizes), ("strides", sizes)]
    return type(f"Descriptor{rank}", (ctypes.Structure,), {"_fields_": fields})


def _describe(array):
    """Returns a descriptor of an array, and the array, which must live as long."""
    sizes = ctypes.c_int64 * array.ndim
    strides = sizes(*(stride // array.itemsize for stride in array.strides))
    data = array.ctypes.data
    return _descriptor(array.ndim)(data, data, 0, sizes(*array.shape), strides), array


def _array(view, dtype):
    """Copies a result, which is contiguous, out of its buffer."""
    shape, dtype = tuple(view.sizes), np.dtype(dtype)
    count = int(np.prod(shape))
    if count == 0:
        return np.zeros(shape, dtype)
    data = ctypes.string_at(view.data + view.offset * dtype.itemsize, count * dtype.itemsize)
    return np.frombuffer(data, dtype).reshape(shape)
