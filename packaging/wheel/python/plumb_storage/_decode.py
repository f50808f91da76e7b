"""Reads documents of JSON into the dataclasses of `plumb_storage.results`, by the types of their fields."""

from __future__ import annotations

import dataclasses
import functools
import json
import types
import typing
from typing import Any, ClassVar, TypeAlias, TypeVar

from .errors import FormatError

JsonObject: TypeAlias = dict[str, Any]
"""An object of JSON, as it was printed."""

D = TypeVar("D", bound="Document")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Document:
    """A whole document, as one of Plumb's commands prints it."""

    SCHEMA: ClassVar[str] = ""
    """Name and version of the documents, as they carry it in `schema`."""

    document: JsonObject = dataclasses.field(default_factory=dict, repr=False, compare=False)
    """The document itself, with fields that a later version of Plumb may have added."""

    @classmethod
    def from_json(cls: type[D], source: str | bytes | JsonObject) -> D:
        """Reads a document of this class, from text or from what `json.load` returned.

        >>> from plumb_storage.results import FitFor
        >>> FitFor.from_json('{"schema": "plumb.fit-for/2"}')
        Traceback (most recent call last):
        plumb_storage.errors.FormatError: expected plumb.fit-for/1, found plumb.fit-for/2
        The program and this package differ in their versions: install the same version of both.

        Raises:
            FormatError: This is not JSON, or not a document of this class.
        """
        value = source if isinstance(source, dict) else parse(source)
        if not isinstance(value, dict):
            raise FormatError(f"expected an object with {cls.SCHEMA}, found {shown(value)}")
        found = value.get("schema")
        if found != cls.SCHEMA:
            raise FormatError(
                f"expected {cls.SCHEMA}, found {found if isinstance(found, str) else 'no name of a format'}",
                remedy="The program and this package differ in their versions: install the same version of both."
                if isinstance(found, str) and found.rpartition("/")[0] == cls.SCHEMA.rpartition("/")[0]
                else "",
            )
        return typing.cast(D, decode(cls, value, cls.__name__))


def parse(text: str | bytes) -> Any:
    """Returns what a text of JSON means."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"this is not JSON: {error}") from error


@dataclasses.dataclass(frozen=True)
class _Field:
    """A field of a dataclass: its attribute, its key in JSON, and its type."""

    attribute: str
    key: str
    kind: Any
    is_required: bool


@functools.cache
def _fields(cls: type) -> tuple[_Field, ...]:
    hints = typing.get_type_hints(cls)
    found = []
    for one in dataclasses.fields(cls):
        if cls is not Document and issubclass(cls, Document) and one.name == "document":
            continue
        missing = dataclasses.MISSING
        is_required = one.default is missing and one.default_factory is missing
        found.append(_Field(one.name, one.metadata.get("json", one.name), hints[one.name], is_required))
    return tuple(found)


def decode(kind: Any, value: Any, path: str) -> Any:
    """Returns a value of JSON as one of this type. Fields that the type does not have are left out.

    Raises:
        FormatError: It is of another type; the message names its path in the document.
    """
    if dataclasses.is_dataclass(kind):
        return _decode_class(typing.cast(type, kind), value, path)
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return _decode_union(typing.get_args(kind), value, path)
    if not _fits(kind, value):
        raise FormatError(f"{path}: expected {_name(kind)}, found {shown(value)}")
    if origin is list:
        (item,) = typing.get_args(kind)
        return [decode(item, one, f"{path}[{number}]") for number, one in enumerate(value)]
    if origin is dict:
        (_, inner) = typing.get_args(kind)
        return {key: decode(inner, one, f"{path}.{key}") for key, one in value.items()}
    return float(value) if kind is float else value


def _decode_class(cls: type, value: Any, path: str) -> Any:
    if not isinstance(value, dict):
        raise FormatError(f"{path}: expected an object, found {shown(value)}")
    arguments: dict[str, Any] = {}
    for one in _fields(cls):
        if one.key in value:
            arguments[one.attribute] = decode(one.kind, value[one.key], f"{path}.{one.key}")
        elif one.is_required:
            raise FormatError(f"{path}: the field `{one.key}` is missing")
    if issubclass(cls, Document):
        arguments["document"] = value
    return cls(**arguments)


def _decode_union(kinds: tuple[Any, ...], value: Any, path: str) -> Any:
    fitting = [kind for kind in kinds if _fits(kind, value)]
    if not fitting:
        names = ", ".join(_name(kind) for kind in kinds)
        raise FormatError(f"{path}: expected one of {names}, found {shown(value)}")
    # Of several objects the one with the most required fields is the narrowest; a plain object accepts all.
    return decode(max(fitting, key=_narrowness), value, path)


def _narrowness(kind: Any) -> int:
    if dataclasses.is_dataclass(kind):
        return 2 + sum(one.is_required for one in _fields(typing.cast(type, kind)))
    return 1 if typing.get_origin(kind) is typing.Literal else 0


def _fits(kind: Any, value: Any) -> bool:
    """Returns `True` if a value can be one of this type; of an object's fields only names and tags count."""
    if kind is Any:
        return True
    if kind is None or kind is type(None):
        return value is None
    if dataclasses.is_dataclass(kind):
        fields = _fields(typing.cast(type, kind))
        return isinstance(value, dict) and all(_has(one, value) for one in fields if one.is_required)
    origin = typing.get_origin(kind)
    if origin is typing.Literal:
        return any(type(one) is type(value) and one == value for one in typing.get_args(kind))
    if origin in (list, dict):
        return isinstance(value, origin)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(one, value) for one in typing.get_args(kind))
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind)


def _has(one: _Field, value: JsonObject) -> bool:
    if one.key not in value:
        return False
    is_tag = typing.get_origin(one.kind) is typing.Literal
    return not is_tag or _fits(one.kind, value[one.key])


def _name(kind: Any) -> str:
    return getattr(kind, "__name__", None) or str(kind)


def shown(value: Any) -> str:
    """Returns a value for a message, not longer than a line."""
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
