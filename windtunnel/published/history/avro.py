"""A reader for the binary form of ``.jhist`` files: a schema, then events.

Source: Apache Avro 1.11 specification, "Binary Encoding". Hadoop's ``EventWriter`` writes the
word ``Avro-Binary``, the schema as a line of JSON, and the events one after the other.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

_MAX_LENGTH = 1 << 28

Schema = Any
Read = Callable[[], Any]


class TruncatedError(Exception):
    """The data ends within a value, or is not of the schema."""


class Decoder:
    """Decodes values from bytes; ``position`` is that of the next value."""

    def __init__(self, data: bytes, schema: Schema, position: int = 0) -> None:
        self._data = data
        self.position = position
        self._named: dict[str, Schema] = {}
        self._schema = schema
        self._learn(schema, "")

    def values(self) -> Iterator[Any]:
        """All values up to the end. Raises TruncatedError after the last complete one."""
        while self.position < len(self._data):
            yield self._value(self._schema)

    def _learn(self, schema: Schema, space: str) -> None:
        """Remember the named types by short and by full name."""
        if isinstance(schema, list):
            for one in schema:
                self._learn(one, space)
        if not isinstance(schema, dict):
            return
        space = schema.get("namespace", space)
        name = schema.get("name")
        if isinstance(name, str) and schema.get("type") in ("record", "enum", "fixed", "error"):
            self._named[name] = self._named[f"{space}.{name}"] = schema
        for one in schema.get("fields", []):
            self._learn(one.get("type"), space)
        for key in ("items", "values", "type"):
            if isinstance(schema.get(key), (dict, list)):
                self._learn(schema[key], space)

    def _take(self, size: int) -> bytes:
        end = self.position + size
        if size < 0 or size > _MAX_LENGTH or end > len(self._data):
            raise TruncatedError
        part = self._data[self.position : end]
        self.position = end
        return part

    def _long(self) -> int:
        shift = result = 0
        while True:
            byte = self._take(1)[0]
            result |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return (result >> 1) ^ -(result & 1)
            if shift > 63:
                raise TruncatedError

    def _value(self, schema: Schema) -> Any:
        if isinstance(schema, list):
            index = self._long()
            if not 0 <= index < len(schema):
                raise TruncatedError
            return self._value(schema[index])
        if isinstance(schema, str):
            return self._simple(schema)
        kind = schema.get("type")
        if kind in ("record", "error"):
            return {one["name"]: self._value(one["type"]) for one in schema["fields"]}
        if kind == "enum":
            index = self._long()
            if not 0 <= index < len(schema["symbols"]):
                raise TruncatedError
            return schema["symbols"][index]
        if kind == "array":
            return list(self._blocks(lambda: self._value(schema["items"])))
        if kind == "map":
            return dict(self._blocks(lambda: (self._text(), self._value(schema["values"]))))
        if kind == "fixed":
            return self._take(schema["size"])
        return self._value(kind)

    def _simple(self, name: str) -> Any:
        match name:
            case "null":
                return None
            case "boolean":
                return self._take(1) == b"\x01"
            case "int" | "long":
                return self._long()
            case "float":
                return struct.unpack("<f", self._take(4))[0]
            case "double":
                return struct.unpack("<d", self._take(8))[0]
            case "bytes":
                return self._take(self._long())
            case "string":
                return self._text()
        if name not in self._named:
            raise TruncatedError
        return self._value(self._named[name])

    def _text(self) -> str:
        return self._take(self._long()).decode(errors="replace")

    def _blocks(self, read: Read) -> Iterator[Any]:
        """The items of an array or a map: blocks of a count and its items, until a count of 0."""
        while count := self._long():
            if count < 0:
                count = -count
                self._long()  # the size of the block in bytes
            if count > len(self._data):
                raise TruncatedError
            for _ in range(count):
                yield read()
