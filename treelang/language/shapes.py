"""Which nodes are equal, found in one walk however deep and however many they are."""

from __future__ import annotations

import json

from treelang.language.node import Node
from treelang.language.pointer import pointer


def shapes(root: Node) -> dict[int, int]:
    """A number for each node, by its `id`; equal nodes, and only those, have equal numbers.

    The order of an object's members does not matter, the kind of a number does (`1` and `1.0` differ).
    """
    nodes: list[Node] = [root]
    for node in nodes:  # which grows while it is walked over, so that a node stands before those below it
        nodes.extend(child for child, _ in node.children(None))
    numbers: dict[tuple[str, frozenset[tuple[str, int]]], int] = {}
    found: dict[int, int] = {}
    for node in reversed(nodes):
        below = frozenset((pointer(path), found[id(child)]) for child, path in node.children(None))
        own = {name: getattr(node, name) for name in type(node).model_fields if name not in node.child_fields}
        key = (json.dumps(own, sort_keys=True), below)
        found[id(node)] = numbers.setdefault(key, len(numbers))
    return found
