"""Tests of the package, with the standard library only: `python -m unittest` in `packaging/wheel`.

They need the program, which `PLUMB` names, and the absolute path of `python` in `PYTHONPATH`. Tests of tables are skipped
where pandas or polars is not installed; `cargo test` runs them in a virtual environment that has both.
"""
