"""The strict projections: inside the providers' subsets, never wider than the formats, and of use."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from tests.treelang.language.programs import choice, function, literal, over, program, program2, tool, value
from tests.treelang.language.strict_subsets import anthropic_defects, openai_defects
from treelang.language.program import PROGRAMS
from treelang.language.strict.projection import strict_schema
from treelang.language.strict.subset import NotExpressibleError
from treelang.tools.definition import ToolDefinition

Schema = dict[str, Any]
VERSIONS = sorted(PROGRAMS)

# --- generated tools ---

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True)
SCALARS = st.sampled_from(["string", "integer", "number", "boolean"]).map(lambda kind: {"type": kind})
LEAVES = st.one_of(
    SCALARS,
    SCALARS.map(lambda schema: {"type": [schema["type"], "null"], "title": "T", "minimum": 1}),
    SCALARS.map(lambda schema: {**schema, "default": 1, "pattern": "^a"}),
    st.sampled_from([{}, {"type": "object"}, {"type": "array"}, {"const": 7}, {"enum": ["low", 1, None]}, {"not": {}}]),
    st.sampled_from([{"$ref": "#/$defs/Point"}, {"$ref": "#/$defs/Tree"}, {"$ref": "#/$defs/Point", "title": "P"}]),
)
DEFINITIONS = {
    "Point": {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}, "required": ["x"]},
    "Tree": {"type": "object", "properties": {"trees": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}},
}


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Schema], most: int = 3) -> Schema:
    properties = draw(st.dictionaries(NAMES, inner, max_size=most))
    required = draw(st.lists(st.sampled_from(sorted(properties)), unique=True)) if properties else []
    return {"type": "object", "properties": properties, "required": required}


def wider(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    unions = st.tuples(st.sampled_from(["anyOf", "oneOf", "allOf"]), st.lists(inner, min_size=1, max_size=3))
    return st.one_of(
        objects(inner),
        inner.map(lambda items: {"type": "array", "items": items}),
        st.lists(inner, max_size=2).map(lambda items: {"type": "array", "prefixItems": items} if items else {}),
        unions.map(lambda union: {union[0]: union[1]}),
    )


VALUES = st.recursive(LEAVES, wider, max_leaves=5)


@st.composite
def tool_sets(draw: st.DrawFn) -> list[ToolDefinition]:
    tools = draw(st.dictionaries(NAMES, objects(VALUES, most=4), max_size=4))
    return [ToolDefinition(name=name, input_schema={**tools[name], "$defs": DEFINITIONS}) for name in tools]


@settings(max_examples=60, deadline=None)
@given(tools=tool_sets(), version=st.sampled_from(VERSIONS))
def test_the_recursive_projection_is_in_openais_subset_or_not_to_be_had(
    tools: list[ToolDefinition], version: str
) -> None:
    schema = projected(version, tools, recursive=True)
    assert schema is None or list(openai_defects(schema)) == []


@settings(max_examples=60, deadline=None)
@given(tools=tool_sets(), version=st.sampled_from(VERSIONS))
def test_the_projection_written_out_is_in_both_subsets_or_not_to_be_had(
    tools: list[ToolDefinition], version: str
) -> None:
    schema = projected(version, tools, recursive=False)
    assert schema is None or [*anthropic_defects(schema), *openai_defects(schema)] == []


def projected(version: str, tools: list[ToolDefinition], *, recursive: bool) -> Schema | None:
    with contextlib.suppress(NotExpressibleError):
        return strict_schema(version, tools, recursive=recursive)
    return None


# --- what the projection accepts ---


def accepted(schema: Schema, root: Schema, depth: int) -> st.SearchStrategy[Any]:
    """What a strict schema accepts, nested no deeper than so many references where that can be avoided."""
    if "$ref" in schema:
        target = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
        return st.deferred(lambda: accepted(target, root, depth - 1))
    if "anyOf" in schema:
        alternatives = schema["anyOf"]
        leaves = [one for one in alternatives if "Computed" not in str(one) and "Node" not in str(one)]
        return st.one_of([accepted(one, root, depth) for one in (leaves[:1] if depth <= 0 else alternatives)])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return st.one_of([accepted_of(kind, schema, root, depth) for kind in kinds])


def accepted_of(kind: str, schema: Schema, root: Schema, depth: int) -> st.SearchStrategy[Any]:
    match kind:
        case "object":
            return st.fixed_dictionaries({key: accepted(one, root, depth) for key, one in schema["properties"].items()})
        case "array":
            least = schema.get("minItems", 0)
            most = max(least, 2 if depth > 0 else 0)
            return st.lists(accepted(schema["items"], root, depth), min_size=least, max_size=most)
        case "string":
            return st.from_regex(schema["pattern"]) if "pattern" in schema else st.text(st.characters(codec="utf-8"))
        case "null":
            return st.none()
        case "boolean":
            return st.booleans()
        case "integer":
            return st.integers(-(10**6), 10**6)
        case _:
            return st.integers(-(10**6), 10**6) | st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("recursive", [True, False])
@pytest.mark.parametrize("version", VERSIONS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_what_the_projection_accepts_the_format_accepts(version: str, recursive: bool, data: st.DataObject) -> None:
    schema = projected(version, data.draw(tool_sets()), recursive=recursive)
    if schema is None:
        return
    written = data.draw(accepted(schema, schema, depth=4))
    if Draft202012Validator(schema).is_valid(written):  # a pattern's `$` is the very end there, and not in Python
        assert PROGRAMS[version].model_validate(written).schema_version == version


PLACE = ToolDefinition(
    name="find",
    input_schema={
        "type": "object",
        "properties": {
            "where": {"anyOf": [{"$ref": "#/$defs/Named"}, {"$ref": "#/$defs/Point"}]},
            "limit": {"type": "integer", "default": 10},
            "note": {"type": ["string", "null"]},
            "order": {"enum": ["near", "far"]},
            "since": {"type": "string"},
            "extra": {"type": "object"},
        },
        "required": ["where"],
        "$defs": {
            "Named": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
            "Point": {
                "type": "object",
                "properties": {"id": {"type": "string"}, "x": {"type": "number"}, "label": {"type": "string"}},
                "required": ["id", "x"],
            },
        },
    },
)
SETTLED = {"where": literal({"id": "a"}), "limit": literal(5), "note": literal(None)}
"""The arguments that are always given: the others take no null and have no default."""


@pytest.mark.parametrize("recursive", [True, False])
@pytest.mark.parametrize(
    ("further", "is_accepted"),
    [
        ({}, True),
        ({"where": literal({"x": 1.5, "id": "a"})}, True),
        ({"where": literal("somewhere")}, False),
        ({"where": literal({"id": "a", "label": "b"})}, False),
        ({"where": literal({"id": 1})}, False),
        ({"where": choice(literal(True), literal({}), literal(None))}, False),
        ({"where": choice(literal(True), literal(1), literal(None))}, True),
        ({"limit": literal("5")}, False),
        ({"order": literal("near")}, True),
        ({"order": literal("sideways")}, False),
        ({"order": literal("near"), "since": literal("monday")}, True),
        ({"since": literal("monday")}, False),
        ({"extra": literal({})}, False),
    ],
)
def test_a_tool_call_has_the_arguments_that_the_tool_describes(
    further: dict[str, Any], is_accepted: bool, recursive: bool
) -> None:
    if not recursive and further.keys() & {"order", "since"}:
        is_accepted = False  # places are scarce there, and what can be done without is left out first
    call = tool("find", **SETTLED | further)
    schema = strict_schema("2.0", [PLACE], recursive=recursive)
    assert is_valid(schema, program2(call, mode="single")) is is_accepted


def is_valid(schema: Schema, written: Schema) -> bool:
    """Whether strict output could be this program, once what is optional is written as null or left out."""
    titles = {"name": None, "description": None} if "description" in schema["properties"] else {}
    complete = {"schema_version": "1.0", "mode": "single"} | written | titles
    known = {key: complete[key] for key in complete if key in schema["properties"]}
    return Draft202012Validator(schema).is_valid(known)


CITIES = [
    ToolDefinition(name=name, properties={param: {} for param in params})
    for name, params in {"cities": ["country"], "population": ["city"], "add": ["x", "y"], "big": ["n"]}.items()
]
POPULATIONS = over(
    "reduce",
    ["accumulator", "item"],
    function("add", value("accumulator"), value("item")),
    over(
        "map",
        ["item"],
        function("population", value("item")),
        function("cities", value("value", "Australia")),
    ),
)
TEN = choice(
    tool("big", n=literal(3)), tool("add", x=tool("add", x=literal(1), y=literal(2)), y=literal(3)), literal(0)
)


@pytest.mark.parametrize("recursive", [True, False])
@pytest.mark.parametrize(
    ("version", "written", "tools"),
    [
        ("1.0", program(POPULATIONS), CITIES),
        (
            "1.0",
            program(choice(value("value", []), value("value", 1), function("cities", value("value", "x")))),
            CITIES,
        ),
        ("2.0", program2(TEN, mode="parallel"), CITIES[2:]),
    ],
)
def test_programs_as_the_questions_need_them_can_be_written(
    version: str, written: Schema, tools: list[ToolDefinition], recursive: bool
) -> None:
    assert is_valid(strict_schema(version, tools, recursive=recursive), written)


@pytest.mark.parametrize("version", VERSIONS)
def test_without_tools_a_program_is_written_that_calls_none(version: str) -> None:
    for recursive in (True, False):
        schema = strict_schema(version, [], recursive=recursive)
        answer = program(value("value", 42)) if version == "1.0" else program2(literal(42))
        called = program(function("f")) if version == "1.0" else program2(tool("f"))
        assert is_valid(schema, answer)
        assert not is_valid(schema, called)


def test_a_program_with_functions_can_be_written_where_recursion_is_taken() -> None:
    body = choice({"type": "variable", "name": "n"}, {"type": "call", "function": "f", "arguments": []}, literal(1))
    defined = {"type": "function_definition", "name": "f", "params": ["n"], "body": body}
    memo = {"type": "memo", "key": "k", "expression": literal([[1], [2]])}
    assert is_valid(strict_schema("2.0", [], recursive=True), program2(memo, definitions=[defined]))


# --- what cannot be expressed ---


def nested(levels: int) -> Schema:
    """An object in an object and so on."""
    inner = nested(levels - 1) if levels > 1 else {"type": "string"}
    return {"type": "object", "properties": {"inner": inner}, "required": ["inner"]}


DOUBLING = {f"D{n}": {"type": "array", "prefixItems": [{"$ref": f"#/$defs/D{n + 1}"}] * 2} for n in range(30)}


@pytest.mark.parametrize(
    ("described", "reason"),
    [
        ({"type": "object"}, "it is an object, and its schema leaves open what it holds"),
        ({"type": ["object", "null"]}, "it is an object, and its schema leaves open what it holds"),
        ({"type": "object", "additionalProperties": {}}, "it is an object, and its schema leaves open what it holds"),
        ({"properties": {}, "required": ["a"]}, "it is an object, and its schema leaves open what it holds"),
        (
            {"anyOf": [{"type": "null"}, {"type": "object"}]},
            "it is an object, and its schema leaves open what it holds",
        ),
        ({"$ref": "#/$defs/Tree"}, "its schema refers to itself"),
        ({"$ref": "#/$defs/D0"}, "its schema is too large"),
        ({"$ref": "#anchor"}, "its schema refers to a place by another way than its path"),
        ({"$dynamicRef": "#anchor"}, "its schema refers to a place by another way than its path"),
        ({"enum": []}, "its schema has no value to choose"),
        ({"const": 10**301}, "it is a number that is too large to be sent"),
        ({"enum": ["none", -1.5e300]}, "it is a number that is too large to be sent"),
        ({"enum": [[1], [2]]}, "it is one of several lists or objects"),
        ({"type": "string", "not": {"const": ""}}, "its schema has conditions"),
        ({"allOf": [{"type": "string"}, {"maxLength": 3}]}, "its schema is made of several"),
        (
            {"oneOf": [{"properties": {"id": {"type": kind}}, "required": ["id"]} for kind in ("string", "number")]},
            "it is one of several objects that no key of their own tells apart",
        ),
    ],
)
def test_an_argument_that_cannot_be_expressed_is_named_with_the_reason(described: Schema, reason: str) -> None:
    tree = {"type": "object", "properties": {"trees": {"items": {"$ref": "#/$defs/Tree"}}}, "required": ["trees"]}
    definitions = {"Tree": tree, **DOUBLING, "D30": {"$anchor": "anchor"}}
    input_schema = {"type": "object", "properties": {"x": described}, "$defs": definitions}
    optional = ToolDefinition(name="keep", input_schema=input_schema)
    assert is_valid(strict_schema("2.0", [optional], recursive=True), program2(tool("keep")))  # it is left out
    required = ToolDefinition(name="keep", input_schema={**input_schema, "required": ["x"]})
    with pytest.raises(NotExpressibleError) as raised:
        strict_schema("2.0", [required], recursive=True)
    assert str(raised.value) == f"the argument 'x' of the tool 'keep': {reason}"


@pytest.mark.parametrize(
    ("version", "tools", "reason"),
    [
        ("2.0", [ToolDefinition(name="web-search")], "the tool 'web-search' has a name that format 2.0 cannot call"),
        (
            "2.0",
            [ToolDefinition(name="keep", input_schema={"type": "object", "required": ["key"]})],
            "the argument 'key' of the tool 'keep': it is not described",
        ),
        (
            "2.0",
            [ToolDefinition(name="keep", input_schema={"$ref": "#a", "$defs": {"A": {"$anchor": "a"}}})],
            "the arguments of the tool 'keep': its schema refers to a place by another way than its path",
        ),
        (
            "1.0",
            [PLACE],
            "the argument 'where' of the tool 'find': it is an object, and constants of format 1.0 are none",
        ),
    ],
)
def test_tools_that_cannot_be_expressed_are_refused_with_the_reason(
    version: str, tools: list[ToolDefinition], reason: str
) -> None:
    with pytest.raises(NotExpressibleError) as raised:
        strict_schema(version, tools, recursive=True)
    assert str(raised.value) == reason


def keep(count: int, *, digits: int = 0, schema: Schema | None = None) -> list[ToolDefinition]:
    """Tools with so many arguments in all, a hundred each."""
    names = [f"p{number:0>{digits}}" for number in range(count)]
    described = schema or {"type": "string"}
    return [
        ToolDefinition(name=f"keep{start}", properties=dict.fromkeys(names[start : start + 100], described))
        for start in range(0, count, 100)
    ]


@pytest.mark.parametrize(
    ("version", "fitting", "excessive", "excess"),
    [
        ("1.0", range(900), range(1_000), r"10\d\d enum values, and strict output takes 1000"),
        ("2.0", keep(4_800), keep(5_000), r"5\d\d\d properties, and strict output takes 5000"),
        (
            "2.0",
            keep(500, digits=200),
            keep(700, digits=200),
            r"1\d* characters of names, and strict output takes 120000",
        ),
        (
            "2.0",
            keep(1, schema=nested(5)),
            keep(1, schema=nested(6)),
            "11 levels of objects, and strict output takes 10",
        ),
    ],
)
def test_the_bounds_of_strict_output_are_kept_and_named(
    version: str, fitting: Any, excessive: Any, excess: str
) -> None:
    def tools(some: Any) -> list[ToolDefinition]:
        return [one if isinstance(one, ToolDefinition) else ToolDefinition(name=f"tool_{one}") for one in some]

    assert list(openai_defects(strict_schema(version, tools(fitting), recursive=True))) == []
    with pytest.raises(NotExpressibleError, match=excess):
        strict_schema(version, tools(excessive), recursive=True)


def test_a_large_enum_is_as_long_as_it_may_be() -> None:
    def tools(digits: int) -> list[ToolDefinition]:
        return [ToolDefinition(name=f"{number:0>{digits}}") for number in range(251)]

    assert list(openai_defects(strict_schema("1.0", tools(59), recursive=True))) == []
    with pytest.raises(NotExpressibleError, match="15060 characters in one enum, and strict output takes 15000"):
        strict_schema("1.0", tools(60), recursive=True)


def test_more_arguments_than_a_provider_without_recursion_takes_are_said_to_be_too_many() -> None:
    def tools(count: int) -> list[ToolDefinition]:
        return [ToolDefinition(name="f", properties={f"p{number}": {} for number in range(count)})]

    assert list(anthropic_defects(strict_schema("2.0", tools(10), recursive=False))) == []
    with pytest.raises(NotExpressibleError, match="17 places for several types, and strict output takes 16"):
        strict_schema("2.0", tools(11), recursive=False)


def test_arguments_that_need_not_be_given_are_left_out_where_there_is_no_room() -> None:
    properties = {f"p{number}": {"type": "string"} for number in range(110)}  # 110 choices of up to 110 properties
    described = ToolDefinition(name="keep", input_schema={"type": "object", "properties": properties})
    schema = strict_schema("2.0", [described], recursive=True)
    assert list(openai_defects(schema)) == []
    assert is_valid(schema, program2(tool("keep")))
    assert not is_valid(schema, program2(tool("keep", p0=literal("a"))))


def test_arguments_are_required_also_where_the_root_of_their_schema_only_refers_to_what_says_it() -> None:
    point = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}
    described = ToolDefinition(name="at", input_schema={"$ref": "#/$defs/Point", "$defs": {"Point": point}})
    schema = strict_schema("2.0", [described], recursive=True)
    assert is_valid(schema, program2(tool("at", x=literal(1))))
    assert not is_valid(schema, program2(tool("at")))


def test_an_unknown_format_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match=r"there is no format '3\.0'; it is '1\.0' or '2\.0'"):
        strict_schema("3.0", [], recursive=True)


def test_the_schema_is_the_same_for_the_same_tools() -> None:
    for version in VERSIONS:
        schemas = {json.dumps(strict_schema(version, CITIES, recursive=False)) for _ in range(2)}
        assert len(schemas) == 1
