"""The layers of the corpus in float64 NumPy, from their definitions.

All tokens at once and no cache: tokens in, outputs and what a cache would hold out.
Shapes are (batch, tokens, ...); rows of keys and values are (batch, heads, tokens, width).
Uses nothing of the package but the sizes that a layer states.
"""

import numpy as np


def heads_of(x, heads):
    batch, tokens, columns = x.shape
    return x.reshape(batch, tokens, heads, columns // heads).swapaxes(1, 2)


def rms_norm(x, weight, epsilon):
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + epsilon) * weight


def frequencies(theta, width):
    return 1.0 / theta ** (np.arange(0, width, 2) / width)


def yarn_frequencies(theta, width, yarn):
    """YaRN (arXiv:2309.00071), section 3.2: pairs with few turns are interpolated."""
    plain = frequencies(theta, width)
    # Pair i turns t times within the original context: theta^(-2 i / width) * tokens = 2 pi t.
    bounds = np.array([yarn.fast_turns, yarn.slow_turns])
    pairs = np.log(yarn.original_tokens / (2 * np.pi * bounds)) / np.log(theta) * width / 2
    if yarn.whole_pairs:
        pairs = np.array([np.floor(pairs[0]), np.ceil(pairs[1])])
    low, high = np.clip(pairs, 0, width - 1)
    keep = 1 - np.clip((np.arange(width // 2) - low) / max(high - low, 1e-3), 0, 1)
    return plain / yarn.factor * (1 - keep) + plain * keep


def rope(x, frequency, magnitude=1.0, interleaved=False):
    """Turns rows at positions 0, 1, ...; pairs are (i, i + width / 2), or neighbours."""
    angles = np.arange(x.shape[2])[:, None] * frequency
    turn = magnitude * np.exp(1j * angles)
    half = x.shape[3] // 2
    first, second = (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    turned = (first + 1j * second) * turn
    if interleaved:
        return np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape)
    return np.concatenate([turned.real, turned.imag], axis=-1)


def attention(q, k, v, scale, window=None, softcap=None, sinks=None):
    """Causal attention; query heads share KV heads in groups. Returns (batch, tokens, columns)."""
    batch, query_heads, tokens, width = q.shape
    grouped = q.reshape(batch, k.shape[1], -1, tokens, width)
    scores = np.einsum("bhgqd,bhkd->bhgqk", grouped, k) * scale
    if softcap is not None:
        scores = softcap * np.tanh(scores / softcap)
    distance = np.arange(tokens)[:, None] - np.arange(tokens)
    seen = (distance >= 0) & (distance < (tokens if window is None else window))
    scores = np.where(seen, scores, -np.inf)
    exponentials = np.exp(scores)
    total = exponentials.sum(axis=-1, keepdims=True)
    if sinks is not None:
        total = total + np.exp(sinks).reshape(k.shape[1], -1, 1, 1)
    out = np.einsum("bhgqk,bhkd->bqhgd", exponentials / total, v)
    return out.reshape(batch, tokens, -1)


def queries_keys_values(layer, w, x):
    """Projected rows by heads, with a bias where the layer has one."""
    heads = {"q": layer.query_heads, "k": layer.kv_heads, "v": layer.kv_heads}
    return [heads_of(x @ w[f"w{n}"].T + w.get(f"b{n}", 0), count) for n, count in heads.items()]


def projected(w, out):
    return out @ w["wo"].T + w.get("bo", 0)


def grouped(layer, w, x):
    q, k, v = queries_keys_values(layer, w, x)
    out = attention(q, k, v, layer.head_dim**-0.5)
    return projected(w, out), {"k": k.swapaxes(1, 2), "v": v.swapaxes(1, 2)}


def rotated(layer, w, x, **modifiers):
    """Llama, Mistral and Qwen 2.5 differ in sizes, biases and windows."""
    q, k, v = queries_keys_values(layer, w, x)
    turn = frequencies(layer.theta, layer.head_dim)
    q, k = rope(q, turn), rope(k, turn)
    out = attention(q, k, v, layer.head_dim**-0.5, **modifiers)
    return projected(w, out), {"k": k, "v": v}


def mistral(layer, w, x):
    return rotated(layer, w, x, window=layer.window)


def qwen3(layer, w, x):
    q, k, v = queries_keys_values(layer, w, x)
    q = rope(rms_norm(q, w["q_norm"], layer.epsilon), w["inv_freq"])
    k = rope(rms_norm(k, w["k_norm"], layer.epsilon), w["inv_freq"])
    return projected(w, attention(q, k, v, layer.head_dim**-0.5)), {"k": k, "v": v}


def gemma2(layer, w, x):
    q, k, v = queries_keys_values(layer, w, x)
    turn = frequencies(layer.theta, layer.head_dim)
    q, k = rope(q, turn), rope(k, turn)
    out = attention(q, k, v, layer.score_width**-0.5, softcap=layer.softcap)
    rest = ((0, 0), (0, 0), (0, layer.capacity - x.shape[1]), (0, 0))
    return projected(w, out), {"k": np.pad(k, rest), "v": np.pad(v, rest)}


def gpt_oss(layer, w, x):
    q, k, v = queries_keys_values(layer, w, x)
    turn = yarn_frequencies(layer.theta, layer.head_dim, layer.yarn)
    magnitude = 1 + 0.1 * np.log(layer.yarn.factor)
    q, k = rope(q, turn, magnitude), rope(k, turn, magnitude)
    scale = layer.head_dim**-0.5
    out = attention(q, k, v, scale, window=layer.window, sinks=w["sinks"])
    return projected(w, out), {"k": k, "v": v}


def latent_attention(layer, w, x, queries, interleaved):
    """Multi-head latent attention, without absorbing any weight."""
    batch, tokens, _ = x.shape
    yarn = layer.yarn
    turn = yarn_frequencies(layer.theta, layer.rotary, yarn)
    score_magnitude = 1 + 0.1 * yarn.score_strength * np.log(yarn.factor)
    magnitude = (1 + 0.1 * yarn.strength * np.log(yarn.factor)) / score_magnitude

    def turned(rows):
        if interleaved:
            return rope(rows, turn, magnitude, interleaved=True)
        return rope(np.concatenate([rows[..., ::2], rows[..., 1::2]], -1), turn, magnitude)

    q = heads_of(queries, layer.query_heads)
    q = np.concatenate([q[..., : layer.key_width], turned(q[..., layer.key_width :])], -1)
    latent, shared = np.split(x @ w["wkv_a"].T, [layer.latent], axis=-1)
    latent = rms_norm(latent, w["kv_a_norm"], layer.epsilon)
    up = w["wkv_b"].reshape(layer.query_heads, -1, layer.latent)
    k = np.einsum("btl,hdl->bhtd", latent, up[:, : layer.key_width])
    v = np.einsum("btl,hdl->bhtd", latent, up[:, layer.key_width :])
    shape = (batch, layer.query_heads, tokens, layer.rotary)
    k = np.concatenate([k, np.broadcast_to(turned(shared[:, None]), shape)], -1)
    out = attention(q, k, v, q.shape[-1] ** -0.5 * score_magnitude**2)
    return projected(w, out), {"k": k, "v": v}


def deepseek_v2_lite(layer, w, x):
    return latent_attention(layer, w, x, x @ w["wq"].T, interleaved=True)


def deepseek_v3(layer, w, x):
    queries = rms_norm(x @ w["wq_a"].T, w["q_a_norm"], layer.epsilon) @ w["wq_b"].T
    return latent_attention(layer, w, x, queries, interleaved=False)


#: By the name of the layer: a function of (layer, weights by name, x) to (output, caches).
REFERENCES = {
    "grouped": grouped,
    "llama-3-8b": rotated,
    "mistral-7b": mistral,
    "qwen2.5-7b": rotated,
    "qwen3-8b": qwen3,
    "gemma-2-9b": gemma2,
    "gpt-oss-20b": gpt_oss,
    "deepseek-v2-lite": deepseek_v2_lite,
    "deepseek-v3": deepseek_v3,
}
