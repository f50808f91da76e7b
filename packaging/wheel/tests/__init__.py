"""Tests of the package, with the standard library only: `python -m unittest` in `packaging/wheel`.

They need the program: `PLUMB` names it, and `PYTHONPATH` the absolute path of `python`. Tests of tables are skipped where pandas or polars is
not installed; `cargo test` runs all of them in a virtual environment that has both.
"""
