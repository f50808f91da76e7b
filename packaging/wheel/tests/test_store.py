"""Stored results, as dataclasses and as tables."""

from __future__ import annotations

import importlib.util
import pathlib
import sys
import tempfile
import unittest
from typing import Any
from unittest import mock

import plumb_storage as ps
from plumb_storage import errors

NEED = "needs {}, which the virtual environment of `cargo xtask test --install` has"


def has(*modules: str) -> bool:
    return all(importlib.util.find_spec(module) is not None for module in modules)


class Stored(unittest.TestCase):
    directory: tempfile.TemporaryDirectory[str]
    store: ps.Store
    ids: list[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        db = pathlib.Path(cls.directory.name) / "results.db"
        made = [
            ps.run("random-read", at=device, time="100ms", seed=seed, db=db, options=["--name", tag])
            for seed in range(4)
            for device, tag in [("sim:ssd", "fast"), ("sim:ssd?slow=40%", "slow")]
        ]
        cls.ids = [result.id for result in made]
        cls.store = ps.open(db)

    def test_results_are_those_that_were_stored(self) -> None:
        self.assertEqual({result.id for result in self.store.results()}, set(self.ids))
        self.assertEqual([result.id for result in self.store.results("last")], self.ids[-1:])
        self.assertEqual([result.id for result in self.store.results(self.ids[:1])], self.ids[:1])
        first = self.store.results(f"SELECT id FROM run WHERE id = '{self.ids[0]}'")
        self.assertEqual([result.id for result in first], self.ids[:1])

    # Protects: a selection without runs is not taken for "all runs".
    def test_a_selection_without_runs_selects_none(self) -> None:
        self.assertEqual(self.store.results("SELECT id FROM run WHERE 0"), [])
        self.assertEqual(self.store.results([]), [])

    def test_many_ids_take_several_calls(self) -> None:
        with mock.patch("plumb_storage._store._IDS_AT_ONCE", 3):
            self.assertEqual([result.id for result in self.store.results(self.ids)], self.ids)

    def test_rows_of_a_query_are_dictionaries(self) -> None:
        rows = self.store.query("SELECT count(*) AS runs, max(verdict) AS verdict FROM run")
        self.assertEqual([row["runs"] for row in rows], [8])
        with self.assertRaises(errors.UsageError):
            self.store.query("DELETE FROM run")

    def test_stored_runs_are_compared(self) -> None:
        comparison = self.store.compare("fast", "slow", metrics=["read.iops"], check=False)
        self.assertEqual(
            [(one.metric, one.ratio < 1.0) for one in comparison.contrasts if one.ratio], [("read.iops", True)]
        )

    def test_wrong_databases_and_runs_are_errors(self) -> None:
        with self.assertRaisesRegex(errors.UsageError, "there is no database"):
            ps.open("/no/such.db")
        with self.assertRaisesRegex(errors.UsageError, "no run"):
            self.store.results("no-such-run")
        with self.assertRaisesRegex(ValueError, "query.*study"):
            self.store.results("last", study="x")

    def test_a_missing_library_is_an_error_with_the_command_that_installs_it(self) -> None:
        for name, module in [("pandas", "pandas"), ("pandas", "pyarrow"), ("polars", "polars")]:
            kind: Any = name
            with mock.patch.dict(
                sys.modules, {module: None, **({"pyarrow": mock.Mock()} if module == "pandas" else {})}
            ):
                with self.assertRaisesRegex(errors.MissingLibrary, rf"pip install 'plumb-storage\[{name}\]'"):
                    self.store.runs(frame=kind)
        other: Any = "excel"
        with self.assertRaisesRegex(ValueError, "unknown library 'excel'"):
            self.store.runs(frame=other)

    @unittest.skipUnless(has("pandas", "pyarrow"), NEED.format("pandas and pyarrow"))
    def test_numbers_are_a_table_of_pandas(self) -> None:
        table = self.store.runs()
        self.assertEqual(set(table["run"]), set(self.ids))
        of_one = table[(table["run"] == self.ids[0]) & (table["metric"] == "read.iops")]
        self.assertEqual(list(of_one["value"]), [self.rate(self.ids[0])])
        self.assertEqual(set(self.store.runs(self.ids[:2])["run"]), set(self.ids[:2]))
        with mock.patch("plumb_storage._store._IDS_AT_ONCE", 3):
            self.assertEqual(len(self.store.runs(self.ids)), len(table))
        with self.assertRaises(errors.NoRuns):
            self.store.runs("SELECT id FROM run WHERE 0")

    @unittest.skipUnless(has("polars"), NEED.format("polars"))
    def test_numbers_are_a_table_of_polars(self) -> None:
        import polars

        table = self.store.runs(frame="polars")
        self.assertEqual(set(table["run"]), set(self.ids))
        of_one = table.filter(polars.col("run") == self.ids[0], polars.col("metric") == "read.iops")
        self.assertEqual(of_one["value"].to_list(), [self.rate(self.ids[0])])
        with mock.patch("plumb_storage._store._IDS_AT_ONCE", 3):
            self.assertEqual(self.store.runs(self.ids, frame="polars").height, table.height)

    def rate(self, run: str) -> float | None:
        (result,) = self.store.results(run)
        return result.phases[0].metrics["read.iops"].value


if __name__ == "__main__":
    unittest.main()
