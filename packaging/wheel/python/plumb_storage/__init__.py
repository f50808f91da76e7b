"""Plumb, a storage benchmark that says what it measured, in Python.

The package calls the program `plumb`, which its wheel carries, and returns what the program prints as dataclasses:

>>> import plumb_storage as ps
>>> result = ps.run("random-read", at="sim:ssd", time="100ms", store=False)
>>> result.verdict
'pass'

`run`, `compare` and `fit_for` measure, `open` reads stored results, and `call` is for all other commands. Errors are in
`plumb_storage.errors`, documents in `plumb_storage.results`. Base and errors need the standard library only.
"""

from __future__ import annotations

from . import errors, results
from ._commands import call, compare, fit_for, run
from ._program import program, version
from ._store import Store, open
from .errors import PlumbError
from .results import Comparison, FitFor, RunResult

__all__ = [
    "Comparison",
    "FitFor",
    "PlumbError",
    "RunResult",
    "Store",
    "call",
    "compare",
    "errors",
    "fit_for",
    "open",
    "program",
    "results",
    "run",
    "version",
]
