"""What goes wrong, as exceptions."""

import enum


class Status(enum.IntEnum):
    """What a call came to; the numbers of ``kvc_status_t``."""

    OK = 0
    INVALID_ARGUMENT = 1
    OUT_OF_MEMORY = 2
    NOT_FOUND = 3
    MISMATCH = 4
    UNSUPPORTED = 5
    INTERNAL = 6
    DEVICE_ERROR = 7


class Error(RuntimeError):
    """A call that failed and changed nothing.

    Attributes
    ----------
    status : Status
        The kind of failure.
    message : str
        What was expected and what was found.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = Status(status)
        self.message = message


class CompileError(Error):
    """A text that does not compile; the message holds all diagnostics.

    Attributes
    ----------
    messages : list of str
        The diagnostics, as MLIR words them, with their locations.
    """

    @property
    def messages(self) -> list[str]:
        return self.message.splitlines()
