"""The wires that are installed, found by their entry points."""

from __future__ import annotations

import functools
from importlib.metadata import EntryPoints, entry_points

from treelang_conformance.clauses import unknown
from treelang_conformance.wires.base import Wire

GROUP = "treelang_conformance.wires"


class UnknownWireError(LookupError):
    """No installed package offers a wire of this name; the message lists those that are."""


@functools.cache
def _installed() -> EntryPoints:
    """What offers wires. To look through all installed packages takes milliseconds, and every check needs its wire."""
    return entry_points(group=GROUP)


def wire_names() -> list[str]:
    """The names of all wires that are installed, sorted."""
    return sorted(_installed().names)


def find_wire(name: str) -> Wire:
    """Return a new wire of this name.

    Raises:
        UnknownWireError: There is none; the message names the nearest and lists the others.
    """
    found = _installed().select(name=name)
    if not found:
        raise UnknownWireError(f"{unknown('wire', name, wire_names())} (installed: {', '.join(wire_names())})")
    wire: Wire = next(iter(found)).load()()
    return wire
