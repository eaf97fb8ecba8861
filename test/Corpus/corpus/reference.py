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
    heads = {"wq": layer.query_heads, "wk": layer.kv_heads, "wv": layer.kv_heads}
    return [heads_of(x @ w[name].T, count) for name, count in heads.items()]


def grouped(layer, w, x):
    q, k, v = queries_keys_values(layer, w, x)
    out = attention(q, k, v, layer.head_dim**-0.5)
    return out @ w["wo"].T, {"k": k.swapaxes(1, 2), "v": v.swapaxes(1, 2)}


def llama(layer, w, x):
    q, k, v = queries_keys_values(layer, w, x)
    turn = frequencies(layer.theta, layer.head_dim)
    q, k = rope(q, turn), rope(k, turn)
    out = attention(q, k, v, layer.head_dim**-0.5)
    return out @ w["wo"].T, {"k": k, "v": v}


def latent_attention(layer, w, x, queries, interleaved):
    """Multi-head latent attention, without absorbing any weight."""
    batch, tokens, _ = x.shape
    yarn = layer.yarn
    turn = yarn_frequencies(layer.theta, layer.rotary, yarn)
    amount = lambda strength: 1 + 0.1 * strength * np.log(yarn.factor)  # noqa: E731
    magnitude = amount(yarn.strength) / amount(yarn.score_strength)

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
    scale = q.shape[-1] ** -0.5 * amount(yarn.score_strength) ** 2
    return attention(q, k, v, scale) @ w["wo"].T, {"k": k, "v": v}


def deepseek_v3(layer, w, x):
    queries = rms_norm(x @ w["wq_a"].T, w["q_a_norm"], layer.epsilon) @ w["wq_b"].T
    return latent_attention(layer, w, x, queries, interleaved=False)


#: By the name of the layer: a function of (layer, weights by name, x) to (output, caches).
REFERENCES = {"grouped": grouped, "llama-3-8b": llama, "deepseek-v3": deepseek_v3}
