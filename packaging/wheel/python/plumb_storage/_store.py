"""A database of results."""

from __future__ import annotations

import importlib
import pathlib
import re
import tempfile
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, overload

from . import _commands, _program, errors
from ._commands import Pathname
from ._decode import shown
from .results import Comparison, RunResult

if TYPE_CHECKING:
    import pandas
    import polars

Query: TypeAlias = str | Sequence[str] | None
"""Which runs: SQL that selects ids (`SELECT id FROM run WHERE …`), an id, a unique prefix of one, `last`, `last~1`,
several of these, or `None` for all runs."""

# Ids on one command line: the system limits its length, and 1,000 of them have 37 KB.
_IDS_AT_ONCE = 1000


def open(db: Pathname | None = None) -> Store:
    """Opens a database of results: a file, or `postgres://…`; otherwise that of `PLUMB_DB`, or the user's own.

    Raises:
        UsageError: There is no such database, or it is not one of Plumb's.
    """
    return Store(db)


class Store:
    """A database of results, read by the program. It stays open to others: nothing is kept between calls.

    >>> import plumb_storage as ps
    >>> result = ps.run("random-read", at="sim:ssd", time="100ms", db="doctest.db")
    >>> store = ps.open("doctest.db")
    >>> store.results("last") == [result]
    True
    >>> store.query("SELECT name, verdict FROM run")
    [{'name': 'random-read', 'verdict': 'pass'}]
    """

    def __init__(self, db: Pathname | None = None) -> None:
        self.db = db
        # Asks for one run, so that a wrong name is an error here and not at the first use.
        self._json("list", "--number", "1")

    def __repr__(self) -> str:
        return f"Store({self.db!r})"

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Returns the rows of a query in SQL, read-only, as `plumb query` does. `docs/store.md` describes the tables.

        Raises:
            UsageError: It is not SQL, or not read-only.
        """
        table = self._json("query", sql)
        if not isinstance(table, dict) or not {"columns", "rows"} <= table.keys():
            raise errors.FormatError(f"expected columns and rows, found {shown(table)}")
        return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]

    def results(self, query: Query = None, *, study: str | None = None) -> list[RunResult]:
        """Returns stored results as dataclasses, newest first.

        Args:
            query: Which runs; all if it is not given.
            study: Only the runs of this study, by its id, name or file; then `query` must be absent.
        """
        found: list[RunResult] = []
        for words in self._selections(query, study):
            exported = self._json("export", *words)
            if not isinstance(exported, list):
                exported = [exported]
            found += [RunResult.from_json(one) for one in exported]
        return found

    @overload
    def runs(
        self, query: Query = ..., *, study: str | None = ..., frame: Literal["pandas"] = ...
    ) -> pandas.DataFrame: ...

    @overload
    def runs(self, query: Query = ..., *, study: str | None = ..., frame: Literal["polars"]) -> polars.DataFrame: ...

    def runs(
        self, query: Query = None, *, study: str | None = None, frame: Literal["pandas", "polars"] = "pandas"
    ) -> pandas.DataFrame | polars.DataFrame:
        """Returns the numbers of stored runs, one row for each, through Parquet. `docs/export.md` lists the columns.

        Args:
            query: Which runs; all if it is not given.
            study: Only the runs of this study, whose levels are JSON in the column `factors`; then `query` must be absent.
            frame: The library of the table that is returned.

        Raises:
            MissingLibrary: That library is not installed.
            NoRuns: `query` selects no runs.
        """
        if frame not in ("pandas", "polars"):
            raise ValueError(f"unknown library {frame!r}; there are 'pandas' and 'polars'")
        # Before the program works for minutes.
        library = _library(frame)
        with tempfile.TemporaryDirectory(prefix="plumb-storage-") as directory:
            files = list(self._parquet(pathlib.Path(directory), query, study))
            if not files:
                raise errors.NoRuns("the query selects no runs", remedy="`plumb list` shows the stored runs.")
            if frame == "polars":
                tables = [library.read_parquet(_pattern(file)) for file in files]
                return cast("polars.DataFrame", library.concat(tables, how="diagonal_relaxed"))
            tables = [library.read_parquet(file) for file in files]
            return cast("pandas.DataFrame", library.concat(tables, ignore_index=True))

    def compare(
        self,
        baseline: str,
        candidate: str,
        *,
        metrics: Sequence[str] = (),
        options: Sequence[str] = (),
        check: bool = True,
    ) -> Comparison:
        """Compares stored runs, as `plumb compare --from-store` does, and measures nothing.

        Args:
            baseline: A selection of runs: a tag, `tag:NAME`, `work:NAME`, `path:PATH`, `run:ID`, `study:NAME` with
                levels, or SQL that selects ids.
            candidate: The other side, in the same form.
            metrics: The metrics to compare, by name or by their last parts.
            options: Further words for the command line.
            check: `False` returns a comparison that a check rejected.
        """
        words = ["--from-store", *options]
        if metrics:
            words += ["--metrics", ",".join(metrics)]
        return _commands.compare(baseline, candidate, options=words, db=self.db, check=check)

    def _parquet(self, directory: pathlib.Path, query: Query, study: str | None) -> Iterator[pathlib.Path]:
        """Exports runs to files, and yields their paths."""
        for number, words in enumerate(self._selections(query, study)):
            file = directory / f"runs-{number}.parquet"
            ended = _program.call(["export", *words, "--parquet", file], self.db, form=())
            if ended.code != 0:
                raise ended.failure()
            yield file

    def _selections(self, query: Query, study: str | None) -> Iterator[list[str]]:
        """Yields the words that select runs, for one call of the program each."""
        if study is not None:
            if query is not None:
                raise ValueError("give `query` or `study`, and not both")
            yield ["--study", study]
            return
        if query is None:
            yield []
            return
        ids = [query] if isinstance(query, str) else list(query)
        if isinstance(query, str) and re.match(r"\s*(SELECT|WITH)\b", query, re.IGNORECASE):
            ids = [str(next(iter(row.values()), "")) for row in self.query(query)]
        for begin in range(0, len(ids), _IDS_AT_ONCE):
            yield ids[begin : begin + _IDS_AT_ONCE]

    def _json(self, *words: Pathname) -> Any:
        ended = _program.call(words, self.db)
        if ended.code != 0:
            raise ended.failure()
        return _program.printed(ended)


def _pattern(path: pathlib.Path) -> str:
    """Returns what polars reads: a file, or all files below a directory."""
    return f"{path}/**/*.parquet" if path.is_dir() else str(path)


def _library(frame: str) -> Any:
    """Imports the library of a table, and what it reads Parquet with."""
    try:
        if frame == "polars":
            return importlib.import_module("polars")
        importlib.import_module("pyarrow")
        return importlib.import_module("pandas")
    except ImportError as error:
        raise errors.MissingLibrary(
            f"{frame} cannot be imported: {error}", remedy=f"pip install 'plumb-storage[{frame}]'"
        ) from error
