"""The compiler: text in, programs out."""

from typing import Literal, Union

from . import _kvc
from .program import Program

_EMIT = {"program": 0, "object": 1, "llvmir": 2, "ptx": 3, "mlir": 4}
_TARGET = {"cpu": 0, "definition": 1, "gpu": 2}
_TEXTS = ("llvmir", "ptx", "mlir")


def _number(what: str, numbers: dict[str, int], name: str) -> int:
    if name not in numbers:
        raise ValueError(f"expected {what} of {', '.join(numbers)}, got '{name}'")
    return numbers[name]


class Compiler:
    """Compiles MLIR text.

    May be used from several threads, which take turns; the interpreter lock is
    released meanwhile.
    """

    def __init__(self) -> None:
        self._compiler = _kvc.Compiler()

    def compile(
        self,
        text: str,
        *,
        target: Literal["cpu", "definition", "gpu"] = "cpu",
        emit: Literal["program", "object", "llvmir", "ptx", "mlir"] = "program",
        tier: Union[str, None] = None,
        layout: Union[str, None] = None,
        precision: Union[str, None] = None,
        split: int = 0,
        cache_page: int = 0,
        chip: Union[str, None] = None,
        ptx_version: int = 0,
        cpu: Union[str, None] = None,
        features: Union[str, None] = None,
        program_name: Union[str, None] = None,
    ) -> Union[Program, bytes, str]:
        """Compiles a module.

        Parameters
        ----------
        text : str
            The module.
        target : {"cpu", "definition", "gpu"}
            Optimised CPU kernels, the definition as loops, or GPU kernels and
            the host code that launches them.
        emit : {"program", "object", "llvmir", "ptx", "mlir"}
            A program ready to run; a relocatable object; text.
        tier : str, optional
            CPU: "amx", "avx512_bf16", "avx512", "avx2" or "plain"; default: the best
            of this machine.
        layout : str, optional
            Of the caches: "packed" (default) or "row_major".
        precision : str, optional
            Of the definition's sums: "f32" (default) or "f64".
        split : int, optional
            Keys of one work item; 0 leaves the choice to the target.
        cache_page : int
            If above 0, attention and caches are first found in a model's own
            code, and the caches kept in pages of that many tokens, 1 to 256:
            functions then take a `Pool.view()` and a `Batch` as last arguments.
            What was found, and what was not and why, is in `Program.messages`.
        chip, ptx_version : optional
            GPU: architecture, and PTX version times ten.
        cpu, features : str, optional
            LLVM's name of the processor, and features beyond the tier's.
        program_name : str, optional
            Prefix of the one exported symbol of an object.

        Returns
        -------
        Program, bytes or str
            By `emit`: "program", "object", or one of the texts.

        Raises
        ------
        CompileError
            If the text does not compile. Its message holds the diagnostics.
        ValueError
            If `emit` or `target` is none of those above.
        """
        compiled = self._compiler.compile(
            text,
            emit=_number("emit", _EMIT, emit),
            target=_number("target", _TARGET, target),
            ptx_version=ptx_version,
            split=split,
            cache_page=cache_page,
            tier=tier,
            layout=layout,
            precision=precision,
            chip=chip,
            cpu=cpu,
            features=features,
            program_name=program_name,
        )
        if emit == "program":
            return Program(compiled)
        data = compiled.data()
        return data.decode() if emit in _TEXTS else data
