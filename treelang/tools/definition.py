"""What is known of a tool: its name, what it is for, and what arguments it takes."""

from __future__ import annotations

import contextlib
from collections.abc import KeysView, Mapping, Sequence
from typing import Any, Self
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from treelang.errors import ProviderResponseError
from treelang.language.json_value import NotJSONError, copy_json
from treelang.tools.schema import compile_schema


class _Metadata(BaseModel):
    """Metadata that also reads like, and equals, the mapping that says the same; what is `None` is left out of it."""

    model_config = ConfigDict(frozen=True)

    def _as_mapping(self) -> dict[str, Any]:
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return _without_nones(fields)

    def keys(self) -> KeysView[str]:
        """The names of what is set."""
        return self._as_mapping().keys()

    def get(self, name: str, default: Any = None) -> Any:
        """What is set under a name, or else the default."""
        return self._as_mapping().get(name, default)

    def __getitem__(self, name: str) -> Any:
        return self._as_mapping()[name]

    def __contains__(self, name: object) -> bool:
        return name in self._as_mapping()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Mapping):
            return _without_nones(self._as_mapping()) == _without_nones(other)
        return super().__eq__(other)


def _without_nones(mapping: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in mapping.items() if value is not None}


class ToolProperty(_Metadata):
    """One argument of a tool: its JSON Schema with its name beside it.

    Further keywords of JSON Schema are given, and kept, as they are: `ToolProperty(name="age", type="integer",
    minimum=0)`. As a mapping it is the schema, without the name.

    Attributes:
        name: The argument's name.
        description: What the argument means.
        type: JSON Schema's `type`: a name or a list of names; `None` where it is left open.
    """

    model_config = ConfigDict(extra="allow")

    name: str = ""  # in a definition's mapping the key says it
    description: str | None = None
    type: Any = None

    def _as_mapping(self) -> dict[str, Any]:
        known = super()._as_mapping()
        del known["name"]
        return known | (self.model_extra or {})


class ToolDefinition(_Metadata):
    """A tool as a provider describes it, whole and checked: what is built has a valid schema.

    Without an `input_schema` all properties are required and nothing else is allowed (TOL-3). With one, the schema
    says everything, and the properties are drawn from it. Neither is to be changed afterwards.

    Attributes:
        name: The tool's name, unique in its provider.
        description: What the tool does, for a model to choose by.
        properties: The arguments by name, in the order of positional parameters. Given as a mapping of schemas, or as
            a sequence of `ToolProperty`.
        input_schema: The complete JSON Schema of the arguments, as it was given (TOL-2).

    Raises:
        ProviderResponseError: The schema is invalid, refers outside of itself, or describes no object.
        ValidationError: Pydantic's, for what is not of this shape at all.
    """

    name: str = Field(min_length=1)
    description: str | None = None
    properties: dict[str, ToolProperty] = Field(default_factory=dict)
    input_schema: dict[str, Any] | None = None

    @classmethod
    def of(cls, metadata: object) -> Self:
        """A definition from what a provider gave: a definition, or a mapping with the same names.

        Raises:
            ProviderResponseError: It is no valid definition.
        """
        if isinstance(metadata, cls):
            return metadata
        try:
            return cls.model_validate(metadata)
        except ValidationError as error:
            defect = error.errors(include_input=False, include_context=False, include_url=False)[0]
            place = ".".join(map(str, defect["loc"]))
            name = metadata.get("name") if isinstance(metadata, Mapping) else None
            raise ProviderResponseError(
                f"the definition of the tool {name!r} is invalid{f' at {place!r}' if place else ''}: {defect['msg']}"
            ) from None

    def complete_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments, complete whichever way the tool was defined (TOL-3)."""
        if self.input_schema is not None:
            return self.input_schema
        return {
            "type": "object",
            "properties": {name: dict(one) for name, one in self.properties.items()},
            "required": list(self.properties),
            "additionalProperties": False,
        }

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        schema, properties = given.get("input_schema"), given.get("properties")
        if isinstance(schema, Mapping):
            compile_schema(str(given.get("name")), schema)
            schema = copy_json(schema)
            properties = _described_by(schema)
        return {**given, "input_schema": schema, "properties": _by_name(properties or {})}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.input_schema is None:
            compile_schema(self.name, self.complete_schema())
        return self


def _described_by(root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The properties of a valid schema, also where its root only refers to the place that has them."""
    schema: Any = root
    visited: set[str] = set()
    while isinstance(schema, Mapping) and "properties" not in schema:
        reference = schema.get("$ref", "")
        if not reference.startswith("#/") or reference in visited:
            return {}
        visited.add(reference)
        schema = root
        for step in reference[2:].split("/"):
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            schema = schema[int(name)] if isinstance(schema, list) else schema[name]
    properties: Mapping[str, Any] = schema["properties"] if isinstance(schema, Mapping) else {}
    return properties


def _by_name(properties: Any) -> Any:
    """Properties by name, each knowing its own; what is no property is left for pydantic to refuse."""
    if isinstance(properties, Mapping):
        return {name: _named(name, schema) for name, schema in properties.items()}
    if isinstance(properties, Sequence) and all(isinstance(item, ToolProperty) for item in properties):
        by_name = {item.name: item for item in properties}
        if len(by_name) < len(properties):
            raise ValueError("two properties of the same name")
        return by_name
    return properties


def _named(name: str, schema: Any) -> Any:
    if isinstance(schema, ToolProperty):
        return schema if schema.name == name else schema.model_copy(update={"name": name})
    if isinstance(schema, bool):  # the schemas that everything and that nothing fits
        schema = {} if schema else {"not": {}}
    if not isinstance(schema, Mapping):
        return schema
    with contextlib.suppress(NotJSONError):  # whose place the check of the whole schema will name
        schema = copy_json(schema)
    return {**schema, "name": name}
