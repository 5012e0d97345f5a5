"""A node on its way to code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from treelang.language.node import Node
from treelang.language.pointer import Path
from treelang.runtime.code import Code, Frame


@dataclass(slots=True)
class Site:
    """A node with what its surroundings say about it."""

    node: Node
    path: Path
    depth: int
    """How deep the node is nested; the program is at 1."""
    slots: Mapping[str, int]
    """Where the frame holds the values of the names that can be used here."""
    codes: list[Code] = field(default_factory=list)
    """The code of the nodes below, once they are compiled."""


class Format(Protocol):
    """How the nodes of one format are compiled."""

    frame: Frame
    """What the program's own nodes see."""

    def below(self, site: Site) -> list[Site]:
        """The nodes directly below one, with what it says about them."""
        ...

    def code(self, site: Site) -> Code:
        """The code of a node, when those below have theirs."""
        ...
