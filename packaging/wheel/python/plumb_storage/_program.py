"""Finds the program `plumb` and calls it."""

from __future__ import annotations

import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from . import errors as failures
from ._decode import parse

ENVIRONMENT = "PLUMB"
"""Environment variable with the path of the program; it goes before all other places."""

# An interrupted program removes its test files first, which takes a moment on slow storage.
_GRACE_SECONDS = 30.0


def program() -> pathlib.Path:
    """Returns the path of the program `plumb`.

    The environment variable `PLUMB` names it; otherwise it is the one that this package's wheel installed, or the first
    on `PATH`.

    Raises:
        ProgramNotFound: There is none, or what was found is another project's command of this name.
    """
    named = os.environ.get(ENVIRONMENT)
    if named:
        found = shutil.which(named)
        if found is None:
            raise failures.ProgramNotFound(
                f"there is no program {named!r}", remedy=f"The environment variable {ENVIRONMENT} names it."
            )
        return _checked(found)
    for directory in _directories():
        candidate = directory / "plumb"
        if os.access(candidate, os.X_OK) and candidate.is_file():
            return _checked(str(candidate))
    found = shutil.which("plumb")
    if found is None:
        raise failures.ProgramNotFound(
            "there is no program `plumb`",
            remedy=f"Install the wheel of plumb-storage, or set {ENVIRONMENT} to the program's path.",
        )
    return _checked(found)


def _directories() -> Iterator[pathlib.Path]:
    """Yields the directories into which pip puts the programs of this package."""
    scripts = sysconfig.get_path("scripts")
    if scripts:
        yield pathlib.Path(scripts)
    user = sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))
    if user:
        yield pathlib.Path(user)
    # `pip install --target DIR` puts programs into DIR/bin.
    yield pathlib.Path(__file__).resolve().parent.parent / "bin"


def version() -> str:
    """Returns the version of the program, such as `0.1.0`."""
    return _version(str(program()))


def _checked(path: str) -> pathlib.Path:
    _version(path)
    return pathlib.Path(path)


@functools.lru_cache(maxsize=8)
def _version(path: str) -> str:
    try:
        ended = subprocess.run(
            [path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise failures.ProgramNotFound(f"{path} cannot be run: {error}") from error
    said = re.fullmatch(rb"plumb (\d+\.\d+\.\S+)(?: .*)?\s*", ended.stdout)
    if ended.returncode != 0 or said is None:
        # Plan 9's tools have a command of this name, and so has a package of PyPI.
        raise failures.ProgramNotFound(
            f"{path} is not Plumb, the storage benchmark", remedy=f"Set {ENVIRONMENT} to the path of the right program."
        )
    return said.group(1).decode("ascii", "replace")


@dataclass(frozen=True)
class Ended:
    """A call of the program that ended."""

    command: tuple[str, ...]
    code: int
    output: bytes
    errors: str

    def failure(self, kind: type[failures.ProgramFailed] | None = None) -> failures.ProgramFailed:
        """Returns the error of this call."""
        message, remedy = explain(self.errors)
        if not message and self.code < 0:
            message = f"signal {-self.code} ended {self.command[0]}"
        return (kind or failures.BY_EXIT_CODE.get(self.code, failures.ProgramFailed))(
            message or f"{self.command[0]} ended with exit code {self.code}",
            exit_code=self.code,
            command=self.command,
            errors=self.errors,
            remedy=remedy,
        )


def explain(text: str) -> tuple[str, str]:
    """Splits what the program wrote to standard error into its message and the way out.

    >>> explain("error: cannot create /x: No such file\\nName another database with --db.\\n")
    ('cannot create /x: No such file', 'Name another database with --db.')
    >>> explain('error: expected a number, found "abc"\\n --> --set\\n  |\\n1 | depth=abc\\n  |       ^^^\\n')
    ('expected a number, found "abc"', '')
    """
    lines = text.splitlines()
    first = next((number for number, line in enumerate(lines) if line.startswith("error: ")), None)
    if first is None:
        plain = [line for line in lines if line.strip()]
        return (plain[-1].strip(), "") if plain else ("", "")
    rest = [line for line in lines[first + 1 :] if line.strip() and not re.match(r"\s*(-->|\d*\s*\||Usage: )", line)]
    return lines[first].removeprefix("error: "), "\n".join(rest)


JSON = ("--json",)
"""The option for documents. An export to a file excludes it."""


def call(
    words: Sequence[str | os.PathLike[str]], db: str | os.PathLike[str] | None, form: Sequence[str] = JSON
) -> Ended:
    """Calls the program with these words, and waits for its end.

    An interrupt (Ctrl-C, or a notebook's stop button) goes to the program, which removes its test files first.
    """
    command = [str(program()), *form]
    if db is not None:
        command += ["--db", os.fspath(db)]
    command += [os.fspath(word) for word in words]
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "NO_COLOR": "1"},
        )
    except (OSError, ValueError) as error:
        # Such as more words than the system allows, or a NUL in one of them.
        raise failures.UsageError(f"cannot start {command[0]}: {error}", exit_code=2, command=command) from error
    with child:
        try:
            output, said = child.communicate()
        except BaseException:
            _interrupt(child)
            raise
    return Ended(tuple(command), child.returncode, output, said.decode("utf-8", "replace"))


def _interrupt(child: subprocess.Popen[bytes]) -> None:
    """Ends the program, first by the signal after which it cleans up. One more than a terminal sent changes nothing."""
    child.send_signal(signal.SIGINT)
    try:
        child.communicate(timeout=_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()


def printed(ended: Ended) -> object:
    """Returns the JSON that a call printed.

    Raises:
        ProgramFailed: It printed none.
    """
    if not ended.output.strip():
        raise ended.failure()
    return parse(ended.output)
