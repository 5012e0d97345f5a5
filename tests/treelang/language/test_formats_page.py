"""docs/formats.md: its tables and numbers are those of the models (its examples are run by tests/test_docs.py)."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from types import ModuleType

import pytest

from treelang import ExecutionLimits
from treelang.language import v1, v2
from treelang.language.json_value import MAX_VALUE_DEPTH
from treelang.language.node import MAX_DEPTH, Node

PAGE = (Path(__file__).parents[3] / "docs" / "formats.md").read_text()


def section(heading: str) -> str:
    return PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize(("heading", "module"), [("Format 1.0", v1), ("Format 2.0", v2)])
def test_the_tables_hold_every_node_with_all_of_its_fields(heading: str, module: ModuleType) -> None:
    nodes = [model for model in vars(module).values() if isinstance(model, type) and issubclass(model, Node)]
    fields = {
        node.model_fields["type"].default: node.model_fields.keys() - {"type"}
        for node in nodes
        if not node.model_fields["type"].is_required()  # a model that stands for several
    }
    heads, *rows_below = re.findall(r"^\| `(\w+)` \| (.*?) \|", section(heading), re.MULTILINE)
    rows = dict(rows_below)
    assert heads == ("type", "Fields")
    assert rows.keys() == fields.keys()
    for kind, text in rows.items():
        assert fields[kind] <= set(re.findall(r"`(\w+)`", text)), kind


def test_the_limits_are_those_of_the_class() -> None:
    named = re.findall(r"^\| `(\w+)`", section("Limits"), re.MULTILINE)
    assert named == [field.name for field in dataclasses.fields(ExecutionLimits)]


def test_the_numbers_are_those_of_the_code() -> None:
    assert f"nested {MAX_DEPTH:,} deep" in PAGE
    assert f"inside one value {MAX_VALUE_DEPTH} deep" in PAGE
