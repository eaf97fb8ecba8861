"""What the GPU target refuses, and in which words.

Written from its documentation: caches of f16 and bf16, all components of one
attention, its queries and its output of one type, row-major components, widths that are multiples of 8 up to 256, or 512 beside 64 as in
multi-head latent attention.
"""

import re
from dataclasses import dataclass

import kvc

ELEMENTS = ("bf16", "f16")
MAX_WIDTH = 256
MAX_LATENT_WIDTH, MAX_KEY_WIDTH = 512, 576
MAX_GROUP = 128


class Refused(Exception):
    """A case was refused as expected; what remains of its test does not apply."""


@dataclass(frozen=True)
class Expectation:
    """Whether a refusal must come or may come, and what its message names."""

    pattern: str
    must: bool = True


def gpu_refusal(config):
    """Returns the Expectation of a config on the GPU, or None if it has to run."""
    used = {name: config.component(name) for name in (*config.terms, config.value)}
    elements = [dtype for _, _, dtype in used.values()]
    wrong = next((dtype for dtype in elements if dtype not in ELEMENTS), None)
    if wrong:
        return Expectation(rf"\b{wrong}\b")
    first = elements[0]
    if set(elements) != {first}:
        other = next(dtype for dtype in elements if dtype != first)
        return Expectation(rf"\b{other}\b.*\b{first}\b|\b{first}\b.*\b{other}\b")
    if config.query_dtype != first:
        return Expectation(rf"quer.*\b{config.query_dtype}\b")
    if config.out_dtype != first:
        return Expectation(rf"output.*\b{config.out_dtype}\b")
    heads = config.component(config.terms[0])[0]
    if config.query_heads // heads > MAX_GROUP:
        return Expectation(rf"\b{config.query_heads // heads} query heads")
    widths = [width for _, width, _ in used.values()]
    if max(widths) <= MAX_WIDTH or is_latent(config):
        return None
    # Between what is promised and what the dialect has.
    return Expectation(r"\bwidth", must=False)


def is_latent(config):
    """Returns whether a config is attention over a latent and a rotary component."""
    widths = [config.component(name)[1] for name in config.terms]
    return (
        len(widths) == 2
        and config.value in config.terms
        and max(widths) <= MAX_LATENT_WIDTH
        and sum(widths) <= MAX_KEY_WIDTH
    )


def check_refusal(error, expectation):
    """Asserts that a compile error is a refusal in the words that are expected."""
    assert error.status == kvc.Status.UNSUPPORTED, error
    assert re.search(expectation.pattern, str(error)), (
        f"expected '{expectation.pattern}' in: {error}"
    )


def compile_or_refuse(compile, expectation):
    """Returns what `compile` gives, or raises Refused if it is refused as expected."""
    if expectation is None:
        return compile()
    try:
        result = compile()
    except kvc.CompileError as error:
        check_refusal(error, expectation)
        raise Refused(str(error)) from error
    assert not expectation.must, f"expected a refusal that names '{expectation.pattern}', got none"
    return result
