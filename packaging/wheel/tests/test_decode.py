"""Documents become dataclasses, and wrong documents become errors with a path."""

from __future__ import annotations

import json
import unittest
from dataclasses import dataclass, field
from typing import Any, Literal

from plumb_storage import results
from plumb_storage._decode import decode
from plumb_storage.errors import FormatError

COMPARISON: dict[str, Any] = {
    "schema": "plumb.compare/1",
    "verdict_note": "no difference",
    "contrasts": [],
    "differences": [],
    "confounded": False,
    "seed": 42,
    "order": ["AB"],
    "runs": ["a", "b"],
    "left_out": [],
}


@dataclass(frozen=True, kw_only=True)
class Inner:
    from_: int = field(metadata={"json": "from"})


@dataclass(frozen=True, kw_only=True)
class Tagged:
    kind: Literal["tagged"]
    size: float | None = None


@dataclass(frozen=True, kw_only=True)
class Outer:
    word: Literal["new", "old"] | str
    one: Inner | Tagged | dict[str, Any] | None = None
    many: dict[str, list[Inner]] = field(default_factory=dict)


class Decoding(unittest.TestCase):
    def test_keys_that_python_reserves_have_another_attribute(self) -> None:
        found = decode(Outer, {"word": "new", "many": {"a": [{"from": 1}]}}, "Outer")
        self.assertEqual(found, Outer(word="new", many={"a": [Inner(from_=1)]}))

    def test_unknown_words_fields_and_objects_are_kept_or_ignored(self) -> None:
        found = decode(Outer, {"word": "of tomorrow", "one": {"later": True}, "added": 1}, "Outer")
        self.assertEqual(found, Outer(word="of tomorrow", one={"later": True}))

    def test_an_object_with_a_tag_is_of_the_class_of_the_tag(self) -> None:
        self.assertEqual(
            decode(Outer, {"word": "a", "one": {"kind": "tagged", "size": 2}}, "").one, Tagged(kind="tagged", size=2.0)
        )
        self.assertEqual(decode(Outer, {"word": "a", "one": {"kind": "other"}}, "").one, {"kind": "other"})

    def test_errors_name_the_path(self) -> None:
        cases: list[tuple[Any, str]] = [
            ({"word": 1}, "Outer.word: expected one of"),
            ({}, "Outer: the field `word` is missing"),
            (
                {"word": "a", "many": {"x": [{"from": 1}, {"from": "1"}]}},
                'Outer.many.x[1].from: expected int, found "1"',
            ),
            ({"word": "a", "many": {"x": [{"from": True}]}}, "Outer.many.x[0].from: expected int, found true"),
            ([], "Outer: expected an object, found []"),
        ]
        for value, message in cases:
            with self.assertRaises(FormatError) as caught:
                decode(Outer, value, "Outer")
            self.assertIn(message, str(caught.exception))


class Documents(unittest.TestCase):
    def test_a_document_is_read_and_kept(self) -> None:
        added = {**COMPARISON, "of_tomorrow": [1]}
        found = results.Comparison.from_json(json.dumps(added))
        self.assertEqual((found.seed, found.runs, found.varying), (42, ["a", "b"], None))
        self.assertEqual(found.document["of_tomorrow"], [1])

    # Protects: a document of another format or version is not taken for this one.
    def test_other_documents_are_refused(self) -> None:
        hostile: list[tuple[Any, str]] = [
            ({**COMPARISON, "schema": "plumb.compare/2"}, "install the same version"),
            ({**COMPARISON, "schema": "plumb.gate/1"}, "found plumb.gate/1"),
            ({"schema": 7}, "no name of a format"),
            ({}, "no name of a format"),
            ("[]", "expected an object"),
            ("null", "expected an object"),
            ("", "this is not JSON"),
            (b"\xff\xfe{", "this is not JSON"),
            ("[" * 100_000, "this is not JSON"),
            ({**COMPARISON, "contrasts": [None]}, "Comparison.contrasts[0]: expected an object, found null"),
            ({**COMPARISON, "seed": "x" * 1000}, "..."),
        ]
        for document, message in hostile:
            with self.assertRaises(FormatError) as caught:
                results.Comparison.from_json(document)
            self.assertIn(message, str(caught.exception))
            self.assertLess(len(str(caught.exception)), 300)

    def test_each_document_has_its_class(self) -> None:
        self.assertIs(results.DOCUMENTS["plumb.result/1"], results.RunResult)
        for schema, kind in results.DOCUMENTS.items():
            self.assertEqual(kind.SCHEMA, schema)


if __name__ == "__main__":
    unittest.main()
