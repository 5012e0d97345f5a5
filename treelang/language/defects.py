"""Saying what is wrong with a program, and where."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from treelang.errors import ASTValidationError
from treelang.language.pointer import Path, pointer


def fail(reason: str, path: Path) -> NoReturn:
    """Refuse the program for what stands at a path."""
    raise ASTValidationError(reason, pointer=pointer(path))


def require_unique(names: Iterable[str], what: str, path: Path) -> None:
    """Require that no name of an array of names comes twice."""
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name in seen:
            fail(f"the {what} {name!r} is there twice; give each its own name", (path, index))
        seen.add(name)
