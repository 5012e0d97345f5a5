"""The published JSON Schemas of the formats, drawn from the models.

They say what a program looks like; what a name means, and whether a lambda fits its values, only reading can tell.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from treelang.language.program import PROGRAMS


def draw_schema(version: str) -> dict[str, Any]:
    """The JSON Schema (Draft 2020-12) of a format, drawn from its models.

    Raises:
        KeyError: There is no such format.
    """
    drawn = PROGRAMS[version].model_json_schema()
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        "$id": f"urn:treelang:schema:program:{version}",
        **drawn,
        "title": f"treelang program {version}",
    }


def published_schema_text(version: str) -> str:
    """The text of a format's JSON Schema as this package ships it.

    Raises:
        FileNotFoundError: There is no such format.
    """
    return files("treelang.language").joinpath("schemas", f"program-{version}.schema.json").read_text("utf-8")


def published_schema(version: str) -> dict[str, Any]:
    """The JSON Schema of a format as this package ships it.

    Raises:
        FileNotFoundError: There is no such format.
    """
    schema: dict[str, Any] = json.loads(published_schema_text(version))
    return schema
