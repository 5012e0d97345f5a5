"""A program of either format."""

from __future__ import annotations

from typing import TypeAlias

from treelang.language import v1, v2

Program: TypeAlias = v1.TreeProgram | v2.TreeProgram

PROGRAMS: dict[str, type[Program]] = {"1.0": v1.TreeProgram, "2.0": v2.TreeProgram}
"""The formats by their `schema_version`."""
