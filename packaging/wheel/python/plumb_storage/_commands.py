"""The commands that measure, and the call of any other command."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from . import _program, errors, results
from ._decode import Document, shown

Pathname: TypeAlias = str | os.PathLike[str]
"""A path, a simulated device such as `sim:ssd`, or a database, as the command line takes it."""

Setting: TypeAlias = str | int | float | bool
"""The value of a setting of a workload: `32`, `"8GiB"`."""

D = TypeVar("D", bound=Document)


def run(
    workload: Pathname | Sequence[Pathname],
    *,
    at: Pathname | None = None,
    settings: Mapping[str, Setting] | None = None,
    time: str | None = None,
    seed: int | None = None,
    conditions: Sequence[str] = (),
    options: Sequence[str] = (),
    db: Pathname | None = None,
    store: bool = True,
    check: bool = True,
) -> results.RunResult:
    """Runs one workload, as `plumb run` does, and returns its result.

    >>> result = run("random-read", at="sim:ssd", time="100ms", store=False)
    >>> result.verdict, result.phases[0].metrics["read.iops"].unit
    ('pass', 'ops/s')

    Args:
        workload: The name of a named workload, the path of a workload file, or all words of a `plumb run`:
            `["random-read", "--at", "/mnt/data"]`.
        at: The directory in which test data is made; the current one if it is not given.
        settings: Changes to the workload, such as `{"depth": 32, "size": "8GiB"}`.
        time: Length of each timed phase, such as `"30s"`.
        seed: Seed of all random choices.
        conditions: Conditions on the result, such as `"read.lat.p99 < 5ms"`.
        options: Further words for the command line.
        db: The results database.
        store: `False` leaves the result out of the database.
        check: `False` returns results that a check rejected, or for which a condition is false.

    Raises:
        ResultRejected: A check rejected the result, which the error carries in `result`.
        ConditionFailed: One of `conditions` is false; the error carries the result.
        ProgramFailed: The program ended with another error; see `plumb_storage.errors`.
        FormatError: The workload is repeated in rounds or at several loads: `call` returns its document.
    """
    words: list[Pathname] = ["run", *([workload] if isinstance(workload, (str, os.PathLike)) else workload)]
    words += _option("--at", at)
    for key, value in (settings or {}).items():
        words += ["--set", f"{key}={_written(value)}"]
    words += _option("--time", time) + _option("--seed", seed)
    for condition in conditions:
        words += ["--assert", condition]
    return _document(results.RunResult, words + list(options), db, store, raised={1, 3} if check else set())


def compare(
    baseline: Pathname | Sequence[Pathname],
    candidate: Pathname | Sequence[Pathname],
    *,
    work: str | Sequence[str] = (),
    budget: str | None = None,
    blocks: int | None = None,
    varying: str | None = None,
    seed: int | None = None,
    options: Sequence[str] = (),
    db: Pathname | None = None,
    store: bool = True,
    check: bool = True,
) -> results.Comparison:
    """Compares two places by interleaved runs, as `plumb compare` does.

    >>> comparison = compare("sim:hdd", "sim:hdd?slow=20%", store=False)
    >>> [contrast.verdict for contrast in comparison.contrasts]
    ['slower', 'slower']

    `Store.compare` compares runs that are stored.

    Args:
        baseline: A directory, a simulated device, or several of them: each is one provisioning (a plot).
        candidate: The other side, in the same form.
        work: Named workloads; random reads if none is given.
        budget: Total time, such as `"10m"`.
        blocks: Run at least this many blocks.
        varying: The only factor that should differ, such as `"fs"`.
        seed: Seed of the order of runs and of all random choices.
        options: Further words for the command line.
        db: The results database.
        store: `False` leaves the runs out of the database.
        check: `False` returns a comparison that a check rejected.

    Raises:
        ResultRejected: A check rejected the result, which the error carries in `result`.
        ProgramFailed: The program ended with another error; see `plumb_storage.errors`.
    """
    words: list[Pathname] = ["compare", _side(baseline), _side(candidate)]
    words += _option("--for", work if isinstance(work, str) else ",".join(work) or None)
    words += _option("--budget", budget) + _option("--blocks", blocks) + _option("--varying", varying)
    words += _option("--seed", seed)
    return _document(results.Comparison, words + list(options), db, store, raised={3} if check else set())


def fit_for(
    requirement: str,
    path: Pathname = ".",
    *,
    limits: Sequence[str] = (),
    runs: int | None = None,
    time: str | None = None,
    seed: int | None = None,
    options: Sequence[str] = (),
    db: Pathname | None = None,
    store: bool = True,
    check: bool = True,
) -> results.FitFor:
    """Answers whether storage is good enough for a use, as `plumb fit-for` does.

    >>> fit_for("etcd", "sim:nvme", store=False).answer
    'yes'
    >>> fit_for("etcd", "sim:nvme", limits=["wal/fdatasync.lat.p99 < 1us"], store=False).answer
    'no'

    `no` and `borderline` are answers, and not errors.

    Args:
        requirement: The use, such as `"etcd"`; `plumb fit-for --list` lists all.
        path: A directory on the storage, or a simulated device.
        limits: Limits of your own, such as `"play/read.bw >= 400MB/s"`.
        runs: Number of runs.
        time: Length of each timed phase of a run.
        seed: Seed of all random choices.
        options: Further words for the command line.
        db: The results database.
        store: `False` leaves the runs out of the database.
        check: `False` returns an answer that a check rejected.

    Raises:
        ResultRejected: A check rejected the result, which the error carries in `result`.
        ProgramFailed: The program ended with another error; see `plumb_storage.errors`.
    """
    words: list[Pathname] = ["fit-for", requirement, path]
    for limit in limits:
        words += ["--limit", limit]
    words += _option("--runs", runs) + _option("--time", time) + _option("--seed", seed)
    return _document(results.FitFor, words + list(options), db, store, raised={3} if check else set())


def call(*words: Pathname, db: Pathname | None = None, check: bool = True) -> Any:
    """Calls any command with `--json`, and returns what it printed.

    >>> call("workloads").schema
    'plumb.workloads/1'
    >>> call("noise", "sim:ssd", "--no-store").schema
    'plumb.noise/1'

    Returns:
        A dataclass of `plumb_storage.results`, or a list of them; for documents of other formats the JSON itself.

    Raises:
        ResultRejected: A check rejected the result, and `check` is `True`.
        ProgramFailed: The program ended with an exit code other than 0, and printed no document.
    """
    ended = _program.call(words, db)
    value = _known(_program.printed(ended))
    if ended.code == 3 and check or ended.code not in _ANSWERS:
        raise _with_result(ended, value if isinstance(value, Document) else None)
    return value


# Exit codes after which a document is complete: `plumb --help` lists them.
_ANSWERS = {0, 1, 3, 6, 7}


def _document(kind: type[D], words: Sequence[Pathname], db: Pathname | None, store: bool, raised: set[int]) -> D:
    """Calls a command, and returns its document. These exit codes are errors, though there is a document."""
    ended = _program.call([*words, *([] if store else ["--no-store"])], db)
    value = _program.printed(ended)
    if isinstance(value, dict) and value.get("schema") != kind.SCHEMA and value.get("schema") in results.DOCUMENTS:
        raise errors.FormatError(
            f"the program printed {value['schema']}, and not {kind.SCHEMA}",
            remedy="Use plumb_storage.call, which returns the documents of all commands.",
        )
    if not isinstance(value, dict):
        raise errors.FormatError(
            f"expected {kind.SCHEMA}, found {shown(value)}",
            remedy="Use plumb_storage.call, which also returns lists." if isinstance(value, list) else "",
        )
    document = kind.from_json(value)
    if ended.code in raised or ended.code not in _ANSWERS:
        raise _with_result(ended, document)
    return document


def _with_result(ended: _program.Ended, document: Document | None) -> errors.ProgramFailed:
    """Returns the error of a call that printed a document. What a check or condition says is in the document."""
    error = ended.failure()
    error.result = document
    if document is None:
        return error
    message, remedy = _reasons(document)
    if message and ended.code in (1, 3):
        kind = type(error)
        return kind(
            message, exit_code=ended.code, command=ended.command, errors=ended.errors, remedy=remedy, result=document
        )
    return error


def _reasons(document: Document) -> tuple[str, str]:
    """Returns why checks rejected a result or conditions are false, and the remedies."""
    findings = [one for one in document.document.get("checks", []) if one.get("level") == "fail"]
    broken = [one for one in document.document.get("assertions", []) if not one.get("holds", True)]
    messages = [f"{one.get('code')}: {one.get('message')}" for one in findings]
    messages += [f"{one.get('assertion')} is false" for one in broken] if not findings else []
    remedies = [one["remedy"] for one in findings if one.get("remedy")]
    return " ".join(messages), " ".join(dict.fromkeys(remedies))


def _known(value: object) -> Any:
    """Returns documents as dataclasses, and other JSON as it is."""
    if isinstance(value, list) and value:
        return [_known(one) for one in value]
    if isinstance(value, dict):
        kind = results.DOCUMENTS.get(str(value.get("schema")))
        return kind.from_json(value) if kind else value
    return value


def _option(name: str, value: Pathname | int | None) -> list[Pathname]:
    return [] if value is None else [name, str(value) if isinstance(value, int) else value]


def _written(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _side(places: Pathname | Sequence[Pathname]) -> str:
    if isinstance(places, (str, os.PathLike)):
        return os.fspath(places)
    return ",".join(os.fspath(place) for place in places)


__all__ = ["Pathname", "Setting", "call", "compare", "fit_for", "run"]
