"""The notebook of `examples/` runs and draws."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import tempfile
import unittest
from typing import Any

import plumb_storage as ps

NOTEBOOK = pathlib.Path(__file__).resolve().parents[3] / "examples/forest.ipynb"
NEEDED = ("nbclient", "nbformat", "ipykernel", "matplotlib", "pandas", "pyarrow")
MISSING = [module for module in NEEDED if importlib.util.find_spec(module) is None]


@unittest.skipIf(MISSING, f"needs {', '.join(MISSING)}")
class Notebook(unittest.TestCase):
    # Protects: the picture has the verdicts of the program, and the dots of all runs that the Parquet file has.
    def test_it_draws_the_verdict_of_each_number(self) -> None:
        import nbclient
        import nbformat

        read: Any = nbformat.read  # has no types
        notebook = read(NOTEBOOK, as_version=4)
        with tempfile.TemporaryDirectory() as directory:
            client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": directory}})
            client.execute()
            database = os.path.join(directory, "forest.db")
            (stored,) = ps.open(database).query("SELECT body FROM comparison")
        comparison = ps.Comparison.from_json(stored["body"])
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        said = "".join(output.get("text", "") for output in outputs)
        self.assertGreaterEqual(len(comparison.contrasts), 6)
        for contrast in comparison.contrasts:
            line = f"{contrast.workload} {contrast.metric}: {contrast.verdict}, {contrast.ratio:.3f}"
            self.assertIn(f"{line}, {contrast.blocks} runs", said)
        pictures = [output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {})]
        self.assertEqual(len(pictures), 1)
        kept = os.environ.get("PLUMB_TEST_PICTURE")
        if kept:
            import base64

            pathlib.Path(kept).write_bytes(base64.b64decode(pictures[0]))

    def test_it_is_stored_without_outputs(self) -> None:
        cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
        self.assertEqual([cell for cell in cells if cell.get("outputs")], [])


if __name__ == "__main__":
    unittest.main()
