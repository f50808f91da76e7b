"""The right program is found, and its failures become errors."""

from __future__ import annotations

import os
import pathlib
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import plumb_storage as ps
from plumb_storage import errors


class Finding(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def script(self, name: str, text: str) -> pathlib.Path:
        path = self.directory / name
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def test_the_environment_names_it(self) -> None:
        own = self.script("mine", "echo plumb 9.8.7")
        with mock.patch.dict(os.environ, {"PLUMB": str(own)}):
            self.assertEqual((ps.program(), ps.version()), (own, "9.8.7"))
        with mock.patch.dict(os.environ, {"PLUMB": "/no/such"}):
            with self.assertRaisesRegex(errors.ProgramNotFound, "PLUMB names it"):
                ps.program()

    def test_the_program_of_the_wheel_goes_before_that_of_the_path(self) -> None:
        (self.directory / "path").mkdir()
        installed = self.script("plumb", "echo plumb 1.0.0")
        on_path = self.script("path/plumb", "echo plumb 2.0.0")
        environment = {"PLUMB": "", "PATH": f"{on_path.parent}:/usr/bin:/bin"}
        with mock.patch.dict(os.environ, environment):
            with mock.patch("plumb_storage._program._directories", return_value=[self.directory]):
                self.assertEqual(ps.program(), installed)
            with mock.patch("plumb_storage._program._directories", return_value=[]):
                self.assertEqual(ps.program(), on_path)

    # Protects: plan9port and a package of PyPI have commands of this name.
    def test_another_projects_command_is_refused(self) -> None:
        for number, text in enumerate(["echo usage: plumb >&2; exit 1", "echo plumb: broker 1.2.5", "exec sleep 0"]):
            other = self.script(f"other-{number}", text)
            with mock.patch.dict(os.environ, {"PLUMB": str(other)}):
                with self.assertRaisesRegex(errors.ProgramNotFound, "is not Plumb, the storage benchmark"):
                    ps.run("random-read", at="sim:ssd")

    def test_exit_codes_are_classes(self) -> None:
        for code, kind in errors.BY_EXIT_CODE.items():
            text = f'if [ "$1" = --version ]; then echo plumb 0.1.0; exit; fi\necho "error: it failed" >&2\nexit {code}'
            program = self.script(f"ends-{code}", text)
            with mock.patch.dict(os.environ, {"PLUMB": str(program)}):
                with self.assertRaises(kind) as caught:
                    ps.run("random-read")
            self.assertEqual((caught.exception.exit_code, caught.exception.message), (code, "it failed"))
            self.assertEqual(caught.exception.command[:3], (str(program), "--json", "run"))

    def test_a_killed_program_is_an_error(self) -> None:
        text = 'if [ "$1" = --version ]; then echo plumb 0.1.0; exit; fi\nkill -9 $$'
        with mock.patch.dict(os.environ, {"PLUMB": str(self.script("dies", text))}):
            with self.assertRaisesRegex(errors.ProgramFailed, "signal 9 ended"):
                ps.run("random-read")

    def test_words_that_cannot_be_passed_are_errors(self) -> None:
        for word in ["a\0b", "x" * 3_000_000]:
            with self.assertRaises(errors.UsageError):
                ps.call("run", word)


class Interrupting(unittest.TestCase):
    # Protects: a notebook's stop button leaves no test files and no running load.
    def test_an_interrupt_lets_the_program_clean_up(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            code = (
                "import sys, plumb_storage as ps\n"
                f"ps.run('random-write', at={directory!r}, time='10m', settings={{'size': '1MiB'}}, store=False)"
            )
            child = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
            deadline = time.monotonic() + 60
            while not os.listdir(directory) and time.monotonic() < deadline and child.poll() is None:
                time.sleep(0.05)
            self.assertTrue(os.listdir(directory), "the run did not start")
            child.send_signal(signal.SIGINT)
            _, said = child.communicate(timeout=60)
            self.assertIn(b"KeyboardInterrupt", said)
            self.assertEqual(os.listdir(directory), [])


if __name__ == "__main__":
    unittest.main()
