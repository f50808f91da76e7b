"""The errors of this package. Each carries the program's message and, where there is one, the way out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._decode import Document

__all__ = [
    "ConditionFailed",
    "FormatError",
    "GuardRefused",
    "InputOutputError",
    "MissingLibrary",
    "NoRuns",
    "PlumbError",
    "ProgramFailed",
    "ProgramNotFound",
    "ResultRejected",
    "RunInterrupted",
    "UsageError",
]


class PlumbError(Exception):
    """The base of all errors of this package.

    >>> print(PlumbError("no run `x`", remedy="`plumb list` shows the stored runs"))
    no run `x`
    `plumb list` shows the stored runs
    """

    message: str
    """What failed, in one sentence."""

    remedy: str
    """What to do about it; empty if that is part of the message."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(f"{message}\n{remedy}" if remedy else message)
        self.message = message
        self.remedy = remedy


class ProgramNotFound(PlumbError, FileNotFoundError):
    """There is no program `plumb`, or the one that was found is another project's."""


class FormatError(PlumbError, ValueError):
    """A document is not what this package reads."""


class MissingLibrary(PlumbError, ImportError):
    """pandas, pyarrow or polars is not installed."""


class NoRuns(PlumbError, LookupError):
    """A selection has no runs."""


class ProgramFailed(PlumbError):
    """The program ended with an exit code other than 0.

    Its subclasses are the exit codes that `plumb --help` lists. This class itself stands for all others, such as the
    end by a signal.
    """

    exit_code: int
    """The exit code; negative if a signal ended the program, as `subprocess` counts."""

    command: tuple[str, ...]
    """The command line."""

    errors: str
    """All that the program wrote to standard error."""

    result: Document | None
    """The document that the program printed all the same."""

    def __init__(
        self,
        message: str,
        *,
        exit_code: int,
        command: Sequence[str] = (),
        errors: str = "",
        remedy: str = "",
        result: Document | None = None,
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.exit_code = exit_code
        self.command = tuple(command)
        self.errors = errors
        self.result = result


class ConditionFailed(ProgramFailed):
    """Exit code 1: the work was done, and a condition does not hold. `result` has the numbers."""


class UsageError(ProgramFailed, ValueError):
    """Exit code 2: the command line, or a file, run or database that it names, is wrong. Nothing was measured."""


class ResultRejected(ProgramFailed):
    """Exit code 3: a check rejected the result. Its numbers are in `result`; do not use them."""


class InputOutputError(ProgramFailed, OSError):
    """Exit code 4: an I/O error, or the result could not be stored."""


class GuardRefused(ProgramFailed, PermissionError):
    """Exit code 5: the write guard refused to overwrite something."""


class RunInterrupted(ProgramFailed):
    """Exit code 130: the program was interrupted. What it had measured is stored."""


BY_EXIT_CODE: dict[int, type[ProgramFailed]] = {
    1: ConditionFailed,
    2: UsageError,
    3: ResultRejected,
    4: InputOutputError,
    5: GuardRefused,
    130: RunInterrupted,
}
