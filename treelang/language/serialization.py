"""Programs as JSON text."""

from __future__ import annotations

import json
from collections.abc import Iterator

from treelang.language.node import Node


def serialize(node: Node) -> str:
    """The JSON text of a program or of a part of one, which reads back as an equal one.

    Every field is there in a fixed order, but for optional ones that are null.
    """
    pieces: list[str] = []
    pending: list[Node | str] = [node]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            pieces.append(item)
        else:
            pending.extend(reversed(list(_parts(item))))
    return "".join(pieces)


def _parts(node: Node) -> Iterator[Node | str]:
    yield f'{{"type":{_text(node.type)}'
    for name, field in type(node).model_fields.items():
        value = getattr(node, name)
        if name == "type" or (value is None and not field.is_required()):
            continue
        yield f",{_text(name)}:"
        if name not in node.child_fields:
            yield _text(value)
        elif isinstance(value, Node):
            yield value
        elif isinstance(value, dict):
            yield "{"
            for index, (key, child) in enumerate(value.items()):
                yield f"{',' * (index > 0)}{_text(key)}:"
                yield child
            yield "}"
        else:
            yield "["
            for index, child in enumerate(value):
                yield "," * (index > 0)
                yield child
            yield "]"
    yield "}"


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
