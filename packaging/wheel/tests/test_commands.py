"""The commands, on simulated devices."""

from __future__ import annotations

import doctest
import os
import pathlib
import re
import tempfile
import unittest
from typing import Any
from unittest import mock

import plumb_storage as ps
from plumb_storage import _commands, _decode, _program, _store, errors, results


PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs/python.md"


class Commands(unittest.TestCase):
    def test_a_run_is_typed(self) -> None:
        result = ps.run("random-read", at="sim:ssd", settings={"depth": 4}, time="100ms", seed=7, store=False)
        self.assertIsInstance(result, results.RunResult)
        self.assertEqual(result.workload["phase"][0]["workers"][0]["depth"], 4)
        self.assertEqual(result.workload["seed"], 7)
        metric = result.phases[0].metrics["read.iops"]
        self.assertGreater(metric.value or 0.0, 0.0)
        self.assertEqual(metric.tier, "device")

    def test_all_words_of_a_command_can_be_given(self) -> None:
        words = ["random-read", "--at", "sim:ssd", "--time", "100ms", "--set", "depth=2", "--no-store"]
        self.assertEqual(ps.run(words).workload["phase"][0]["workers"][0]["depth"], 2)

    def test_a_false_condition_is_an_error_with_the_result(self) -> None:
        arguments: dict[str, Any] = {
            "at": "sim:ssd",
            "time": "100ms",
            "store": False,
            "conditions": ["read.lat.p99 < 1ns"],
        }
        with self.assertRaises(errors.ConditionFailed) as caught:
            ps.run("random-read", **arguments)
        self.assertEqual(caught.exception.message, "read.lat.p99 < 1ns is false")
        self.assertIsInstance(caught.exception.result, results.RunResult)
        self.assertFalse(ps.run("random-read", check=False, **arguments).assertions[0].holds)

    # Protects: numbers that a check rejected do not get into a table unnoticed.
    def test_a_rejected_result_is_an_error_with_the_reason_and_the_remedy(self) -> None:
        result = ps.run("random-read", at="sim:ssd", time="100ms", store=False).document
        finding = {
            "code": "C1",
            "level": "fail",
            "observed": "9 %",
            "threshold": "5 %",
            "message": "Others used the device.",
            "remedy": "Stop them.",
        }
        rejected = {**result, "verdict": "reject", "checks": [finding]}
        ended = _program.Ended(("plumb",), 3, str.encode(_json(rejected)), "fail C1\n")
        with mock.patch("plumb_storage._program.call", return_value=ended):
            with self.assertRaises(errors.ResultRejected) as caught:
                ps.run("random-read")
            self.assertEqual(ps.run("random-read", check=False).verdict, "reject")
        self.assertEqual(str(caught.exception), "C1: Others used the device.\nStop them.")
        self.assertEqual(caught.exception.exit_code, 3)

    def test_answers_are_no_errors(self) -> None:
        limit = "wal/fdatasync.lat.p99 < 1us"
        self.assertEqual(ps.fit_for("etcd", "sim:nvme", limits=[limit], store=False).answer, "no")
        self.assertEqual(ps.call("fit-for", "etcd", "sim:nvme", "--limit", limit, "--no-store").answer, "no")

    def test_several_works_and_places_are_joined(self) -> None:
        comparison = ps.compare("sim:ssd", "sim:ssd?slow=30%", work=["random-read", "random-write"], store=False)
        self.assertEqual({one.workload for one in comparison.contrasts}, {"random-read", "random-write"})
        with mock.patch("plumb_storage._program.call", side_effect=InterruptedError) as call:
            with self.assertRaises(InterruptedError):
                ps.compare([pathlib.Path("/a"), "/b"], ["/c"], varying="fs", budget="2m", blocks=8, seed=1)
        words = "compare /a,/b /c --budget 2m --blocks 8 --varying fs --seed 1"
        self.assertEqual(call.call_args.args, (words.split(), None))

    def test_wrong_words_are_errors_that_name_the_way_out(self) -> None:
        with self.assertRaisesRegex(errors.UsageError, "random-read"):
            ps.run("no-such-workload", at="sim:ssd")
        with self.assertRaisesRegex(errors.UsageError, "it does not exist"):
            ps.compare("/no/such/a", "/no/such/b")
        with self.assertRaisesRegex(errors.FormatError, "plumb_storage.call"):
            ps.run(["random-read", "--runs", "2", "--at", "sim:ssd", "--time", "50ms", "--no-store"])

    def test_repeated_runs_are_a_list_of_results(self) -> None:
        both = ps.call("run", "random-read", "--runs", "2", "--at", "sim:ssd", "--time", "50ms", "--no-store")
        self.assertTrue(len(both) == 2 and all(isinstance(one, results.RunResult) for one in both), both)


def _json(value: Any) -> str:
    import json

    return json.dumps(value)


def load_tests(loader: unittest.TestLoader, tests: unittest.TestSuite, pattern: str | None) -> unittest.TestSuite:
    """Adds the examples in docstrings and in docs/python.md. They run in an empty directory with an empty database."""
    for module in (ps, errors, _commands, _decode, _program, _store):
        tests.addTests(doctest.DocTestSuite(module, setUp=_enter, tearDown=_leave))
    page = PAGE.read_text(encoding="utf-8")
    code = "".join(re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE))
    examples = doctest.DocTestParser().get_doctest(code, {}, PAGE.name, str(PAGE), 0)
    tests.addTest(doctest.DocTestCase(examples, setUp=_enter, tearDown=_leave))
    return tests


_places: list[tuple[str, str | None, tempfile.TemporaryDirectory[str]]] = []


def _enter(_: doctest.DocTest) -> None:
    place = tempfile.TemporaryDirectory()
    _places.append((os.getcwd(), os.environ.get("XDG_DATA_HOME"), place))
    os.chdir(place.name)
    os.environ["XDG_DATA_HOME"] = place.name


def _leave(_: doctest.DocTest) -> None:
    before, data, place = _places.pop()
    os.chdir(before)
    if data is None:
        del os.environ["XDG_DATA_HOME"]
    else:
        os.environ["XDG_DATA_HOME"] = data
    place.cleanup()


if __name__ == "__main__":
    unittest.main()
