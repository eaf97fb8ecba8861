"""Attention of PyTorch and of a kernel in Triton, timed beside kvc's.

What is not installed, or does not take a shape, is said once and left out.
"""

import math

#: About as many programs of Triton's kernel as fill a device.
_PROGRAMS = 264
#: Keys of a tile and stages of Triton's kernel.
_TRITON_TILES = ((64, 2), (64, 3), (128, 2), (128, 3))


class NoPeers:
    """Where nothing runs but kvc."""

    versions = {}

    def rates(self):
        return {}

    def measure(self, size):
        return {}


class Peers:
    """What there is on this machine."""

    def __init__(self, clock, say):
        self.clock, self.say, self.said = clock, say, set()
        self.versions = {}
        self.torch = self._load("PyTorch", "torch")
        if self.torch and not self.torch.cuda.is_available():
            say("PyTorch sees no device: its columns are left out")
            self.torch = None
        self.triton = self._load("Triton", "triton") if self.torch else None

    def _load(self, name, module):
        try:
            loaded = __import__(module)
        except ImportError as error:
            self.say(f"{name} is left out: {error}")
            return None
        self.versions[name] = loaded.__version__
        return loaded

    def _say_once(self, text):
        if text not in self.said:
            self.said.add(text)
            self.say(text)

    def _stream(self):
        return self.torch.cuda.stream(self.torch.cuda.ExternalStream(self.clock.stream.value))

    def rates(self):
        """Returns GB/s of PyTorch's copy, and TFLOP/s of its product of matrices."""
        if not self.torch:
            return {}
        torch = self.torch
        source = torch.zeros(self.clock.copy_bytes // 2, dtype=torch.bfloat16, device="cuda")
        target = torch.empty_like(source)
        a = torch.randn(8192, 8192, dtype=torch.bfloat16, device="cuda")
        torch.cuda.synchronize()
        with self._stream():
            copy = min(self.clock.measure(lambda: target.copy_(source)))
            product = min(self.clock.measure(lambda: torch.matmul(a, a)))
        rates = {"torch copy_": 2 * self.clock.copy_bytes / copy / 1e6,
                 "matmul, TFLOP/s": 2 * 8192**3 / product / 1e9}  # fmt: skip
        del source, target, a
        torch.cuda.empty_cache()
        return rates

    def measure(self, size):
        """Returns milliseconds of the calls of each peer that takes a size."""
        found = {}
        if not self.torch or size.table == "codes":  # for which neither has anything
            return found
        for measure in (self._sdpa, self._eager, self._triton):
            try:
                found.update(measure(size))
            except Exception as error:  # Whatever ails a peer, kvc's time stays.
                text = (str(error).strip() or repr(error)).splitlines()[0][:100]
                self._say_once(f"{size.case.name}: {measure.__name__[1:]}: {text}")
            self.torch.cuda.empty_cache()
        return found

    def _dtype(self, config):
        return {"bf16": self.torch.bfloat16, "f16": self.torch.float16}[config.query_dtype]

    def _tensors(self, size):
        """Returns q, k and v, contiguous as [batch, heads, tokens, width]."""
        config, torch = size.case.config, self.torch

        def values(heads, tokens, width):
            shape = size.batch, heads, tokens, width
            return torch.randn(shape, dtype=self._dtype(config), device="cuda")

        widths = sum(config.component(name)[1] for name in config.terms)
        heads = config.component(config.value)[0]
        q = values(config.query_heads, size.query_len, widths)
        k = values(heads, size.length, widths)
        v = k[..., : config.value_width] if config.value in config.terms else values(
            heads, size.length, config.value_width)  # fmt: skip
        torch.cuda.synchronize()
        return q, k, v

    def _sdpa(self, size):
        """The fastest of scaled_dot_product_attention's implementations."""
        from torch.nn.attention import SDPBackend, sdpa_kernel

        config = size.case.config
        if size.table == "MLA" or config.window or config.softcap or config.sinks or config.alibi:
            return {}
        torch, (q, k, v) = self.torch, self._tensors(size)
        attend = torch.nn.functional.scaled_dot_product_attention
        options = {"scale": config.exact_scale, "enable_gqa": q.shape[1] != k.shape[1],
                   "is_causal": config.causal and size.query_len > 1}  # fmt: skip
        results = {}
        for name in ("FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION"):
            if not hasattr(SDPBackend, name):
                continue
            try:
                with torch.inference_mode(), self._stream(), sdpa_kernel(getattr(SDPBackend, name)):
                    short = name.split("_")[0].lower()
                    results[f"SDPA {short}"] = self.clock.measure(
                        lambda: attend(q, k, v, **options)
                    )
            except (RuntimeError, TypeError) as error:
                reason = str(error).strip().splitlines()[0][:100]
                self._say_once(f"{size.case.name}: PyTorch's {name}: {reason}")
        if not results:
            return {}
        best = min(results, key=lambda name: min(results[name]))
        return {best: results[best]}

    def _eager(self, size):
        """Two products and a softmax, over a latent that all heads share."""
        if size.table != "MLA":
            return {}
        torch, (q, k, v) = self.torch, self._tensors(size)
        q, k, v = q[:, :, 0], k[:, 0], v[:, 0]
        scale = size.case.config.exact_scale

        def attend():
            scores = torch.matmul(q, k.transpose(1, 2)) * scale
            return torch.matmul(torch.softmax(scores.float(), -1).to(v.dtype), v)

        with torch.inference_mode(), self._stream():
            return {"eager": self.clock.measure(attend)}

    def _triton(self, size):
        """The best tile of the split-KV kernel of tools/compare_triton, over pages."""
        config = size.case.config
        if not self.triton or size.table != "decode":
            return {}
        from gpu_check import triton_kernels as kernels

        torch, dtype = self.torch, self._dtype(config)
        kv_heads, width, _ = config.component("k")
        group, tokens = config.query_heads // kv_heads, size.length
        chunk = -(-tokens // max(1, _PROGRAMS // (kv_heads * size.batch)))
        chunk = -(-chunk // 128) * 128
        splits, pages = -(-tokens // chunk), -(-tokens // config.page)
        memory = size.batch * pages, config.page, kv_heads, width
        k, v = (torch.randn(memory, dtype=dtype, device="cuda") for _ in range(2))
        q = torch.randn(size.batch, config.query_heads, width, dtype=dtype, device="cuda")
        table = torch.randperm(size.batch * pages, device="cuda").to(torch.int32)
        table = table.reshape(size.batch, pages)
        parts = torch.empty(size.batch, kv_heads, splits, group, width, device="cuda")
        stats, out = torch.empty_like(parts[..., 0]).contiguous(), torch.empty_like(q)
        factor = config.exact_scale / math.log(2)
        results = []
        torch.cuda.synchronize()
        for block, stages in _TRITON_TILES:
            def attend(block=block, stages=stages):
                kernels.paged[(size.batch, kv_heads, splits)](
                    q, k, v, table, parts, stats, tokens, pages, factor, chunk,
                    KV_HEADS=kv_heads, GROUP=group, D=width, PAGE=config.page,
                    ROWS=max(16, 1 << (group - 1).bit_length()), BN=block,
                    num_warps=4, num_stages=stages,
                )  # fmt: skip
                kernels.combine[(size.batch * config.query_heads,)](
                    parts, stats, out, splits, GROUP=group, D=width,
                    SPLITS=1 << (splits - 1).bit_length(), num_warps=1,
                )  # fmt: skip

            with self._stream():
                results.append(self.clock.measure(attend))
        return {"Triton": min(results, key=min)}
