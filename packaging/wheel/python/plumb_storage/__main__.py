"""`python -m plumb_storage` is the program `plumb`."""

import os
import sys

from ._program import program
from .errors import ProgramNotFound

try:
    path = str(program())
except ProgramNotFound as missing:
    sys.exit(f"error: {missing}")
os.execv(path, [path, *sys.argv[1:]])
