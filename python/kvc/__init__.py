"""kvc: a compiler for attention over key-value caches, and its runtime.

Example
-------
>>> import kvc, numpy as np
>>> text = '''
... !cache = !kvc.cache<page = 16, k: 1x64xf32, v: 1x64xf32>
... func.func @decode(%q: tensor<?x4x64xf32>, %k: tensor<?x1x64xf32>, %v: tensor<?x1x64xf32>,
...                   %cache: !cache, %batch: !kvc.batch) -> tensor<?x4x64xf32> {
...   kvc.append %cache[k: %k, v: %v] at %batch
...       : !cache, tensor<?x1x64xf32>, tensor<?x1x64xf32>
...   %out = kvc.attention %cache at %batch terms(%q * k) value(v) score [#kvc.causal]
...       {scale = 0.125 : f32} : !cache, tensor<?x4x64xf32> -> tensor<?x4x64xf32>
...   return %out : tensor<?x4x64xf32>
... }'''
>>> decode = kvc.Compiler().compile(text)["decode"]
>>> pool = kvc.Pool(decode.cache_type, num_pages=64)
>>> sequence = pool.sequence()
>>> sequence.append(1)
>>> batch = kvc.Batch.from_sequences([sequence], query_lens=[1])
>>> q, k, v = (np.ones((1, heads, 64), np.float32) for heads in (4, 1, 1))
>>> decode(q, k, v, pool.view(), batch).shape
(1, 4, 64)
"""

from ._kvc import compiler_version, runtime_version
from .batch import Batch, RawBatch
from .cache import CacheType, CacheView, Component, Pool, Sequence
from .compiler import Compiler
from .device import Device, DeviceArray
from .errors import CompileError, Error, Status
from .program import Argument, Function, Program, Stream, default_stream

__all__ = [
    "Argument",
    "Batch",
    "CacheType",
    "CacheView",
    "CompileError",
    "Compiler",
    "Component",
    "Device",
    "DeviceArray",
    "Error",
    "Function",
    "Pool",
    "Program",
    "RawBatch",
    "Sequence",
    "Status",
    "Stream",
    "compiler_version",
    "default_stream",
    "runtime_version",
]
