"""TOL-1, TOL-3: what a listing says, and what a look-up finds."""

from __future__ import annotations

import asyncio
from typing import Any

from treelang import InvalidToolArgumentsError, ToolNotFoundError
from treelang.tools.validation import compile_tool
from treelang_conformance.cases.tools import ToolsCase
from treelang_conformance.checks.tools._hosted import ANYTHING, INTEGER, TEXT, RecordedTool
from treelang_conformance.checks.tools._use import called, listed, looked_up, only_one
from treelang_conformance.hosting import closed
from treelang_conformance.outcome import shortened, type_name
from treelang_conformance.registry import SuiteName, check
from treelang_conformance.violation import about

_SEVERAL = {"tree": TEXT, "height": INTEGER, "age": INTEGER, "bark": TEXT, "zone": TEXT, "canopy": TEXT}


def _forest() -> list[RecordedTool]:
    return [
        RecordedTool("measure", schema=closed(_SEVERAL), description="The height of a tree.\n\nIn metres: 115.9 m."),
        RecordedTool("fell-a.tree_2", schema=closed({"tree": TEXT}), description="Fälle den Baum \u2013 木."),
        RecordedTool("Measure"),
        RecordedTool("a" * 64, schema=closed({"b": TEXT, "a": TEXT}), description="A long name."),
        RecordedTool("count", schema=closed({"count": INTEGER})),
    ]


@check("TOL-1", suite=SuiteName.TOOLS, hint="List every tool once, under exactly the name that calls it.")
async def every_tool_is_listed_once_under_its_name(case: ToolsCase) -> None:
    """The listing has every tool once, under its exact name, and says the same when it is asked for again."""
    tools = _forest()
    provider = await case.hosting(*(tool.hosted for tool in tools))
    names = sorted(tool.hosted.name for tool in tools)
    for time in ("first", "second"):
        found = sorted(definition.name for definition in await listed(case, provider))
        case.require(found == names, expected=f"a listing of {names}", happened=f"the {time} listing has {found}")


@check("TOL-1", suite=SuiteName.TOOLS, hint="A provider without tools is no failure.")
async def no_tools_are_an_empty_listing(case: ToolsCase) -> None:
    """A provider that has no tools lists none."""
    found = await listed(case, await case.hosting())
    case.require(not found, expected="an empty listing", happened=f"it lists {[one.name for one in found]}")


@check("TOL-1", suite=SuiteName.TOOLS, hint="Hand the description on as it is; None where the tool has none.")
async def a_description_is_the_tools_own_or_none(case: ToolsCase) -> None:
    """Each description is what the tool says, to the character, and `None` where it says nothing."""
    forest = _forest()
    tools = {tool.hosted.name: tool.hosted.description for tool in forest}
    provider = await case.hosting(*(tool.hosted for tool in forest))
    for definition in await listed(case, provider):
        said = tools.get(definition.name)
        case.require(
            definition.description == said,
            expected=f"the description {said!r} of the tool {definition.name!r}",
            happened=f"it is {definition.description!r}",
        )


@check("TOL-1", suite=SuiteName.TOOLS, hint="Positional parameters go by this order: sort nothing, use no set.")
async def properties_stand_in_the_schemas_order(case: ToolsCase) -> None:
    """The properties of a definition stand in the order in which the schema has them."""
    forest = _forest()
    tools = {tool.hosted.name: tool for tool in forest}
    provider = await case.hosting(*(tool.hosted for tool in forest))
    for definition in await listed(case, provider):
        ordered = list((tools[definition.name].hosted.input_schema or {})["properties"])
        case.require(
            list(definition.properties) == ordered,
            expected=f"the properties {ordered}",
            happened=f"they are {list(definition.properties)}",
        )


@check("TOL-1", suite=SuiteName.TOOLS, hint="Answer listings and look-ups from the same definitions.")
async def a_look_up_equals_the_listing(case: ToolsCase) -> None:
    """`get_tool_definition` gives for each name what the listing has, before any listing and after one."""
    forest = _forest()
    provider = await case.hosting(*(tool.hosted for tool in forest))
    before = {tool.hosted.name: await looked_up(case, provider, tool.hosted.name) for tool in forest}
    for definition in await listed(case, provider):
        for found in (before[definition.name], await looked_up(case, provider, definition.name)):
            case.require(
                found == definition
                and found.complete_schema() == definition.complete_schema()
                and list(found.properties) == list(definition.properties),
                expected=f"the look-up of {definition.name!r} to give what the listing has",
                happened=f"it gives {found!r}",
            )


_UNKNOWN = {
    "an unheard-of name": "plant",
    "an empty name": "",
    "another case": "MEASURE",
    "a beginning": "meas",
    "a longer name": "measures",
    "a space before": " measure",
    "a space behind": "measure ",
    "a line feed behind": "measure\n",
}


@check("TOL-1", suite=SuiteName.TOOLS, over=_UNKNOWN, hint="Compare names exactly; raise ToolNotFoundError for others.")
async def an_unknown_name_is_not_found(case: ToolsCase, name: str) -> None:
    """A look-up and a call of a name that no tool has raise `ToolNotFoundError`, and no tool is called."""
    tools = (RecordedTool("measure"), RecordedTool("count"))
    provider = await case.hosting(*(tool.hosted for tool in tools))
    for _ in range(2):  # the second time with whatever the first has taught the provider
        with case.bounded("a look-up"):
            (found,) = await asyncio.gather(looked_up(case, provider, name), return_exceptions=True)
        _require_not_found(case, "the look-up", found)
        ended = await called(case, provider, name, {})
        _require_not_found(case, "the call", ended.error)
        await listed(case, provider)
    case.require(not any(tool.came for tool in tools), expected="no tool to be called", happened="one was")


def _require_not_found(case: ToolsCase, what: str, came: Any) -> None:
    case.require(
        isinstance(came, ToolNotFoundError),
        expected=f"{what} to raise ToolNotFoundError",
        happened=f"it raised {type_name(came)}" if isinstance(came, BaseException) else f"it gave {shortened(came)}",
    )


@check("TOL-3", suite=SuiteName.TOOLS, hint="Properties alone make a closed object: required all, additional none.")
async def properties_alone_are_all_required_and_all_there_is(case: ToolsCase) -> None:
    """A tool that is described by its properties alone takes these, all of them, and nothing else."""
    properties = {
        "tree": TEXT,
        "height": {"type": "integer", "minimum": 1},
        "age": ANYTHING,
        "unit": {"type": "string", "default": "m"},
        "note": {"type": ["string", "null"]},
    }
    tool = RecordedTool(properties=properties)
    provider = await case.hosting(tool.hosted)
    whole = {"tree": "redwood", "height": 115, "age": None, "unit": "ft", "note": None}
    for definition in (*await listed(case, provider), await looked_up(case, provider, "measure")):
        compiled = compile_tool(definition)
        case.require(
            list(definition.properties) == list(whole),
            expected=f"the properties {list(whole)}",
            happened=f"they are {list(definition.properties)}",
        )
        refused = [{name: whole[name] for name in whole if name != left_out} for left_out in whole]
        refused += [{}, {**whole, "more": 1}, {**whole, "height": 0}, {**whole, "tree": 1}]
        for arguments in (whole, *refused):
            try:
                compiled.validate(arguments)
                valid = True
            except InvalidToolArgumentsError:
                valid = False
            with about(f"the arguments {arguments}"):
                case.require(
                    valid == (arguments is whole),
                    expected="exactly the described properties to be allowed",
                    happened="the definition " + ("allows them" if valid else "refuses them"),
                )


@check("TOL-3", suite=SuiteName.TOOLS, hint="No properties mean no arguments.")
async def no_properties_mean_no_arguments(case: ToolsCase) -> None:
    """A tool that is described by no properties at all takes no arguments."""
    provider = await case.hosting(RecordedTool(properties={}).hosted)
    definition = await only_one(case, provider)
    schema = definition.complete_schema()
    case.require(
        schema.get("additionalProperties") is False and not schema.get("properties"),
        expected="a schema that allows no argument",
        happened=f"it is {schema}",
    )


@check("TOL-3", suite=SuiteName.TOOLS, hint="The schema of each property is kept whole, with all of its keywords.")
async def the_schemas_of_properties_are_kept(case: ToolsCase) -> None:
    """A tool that is described by its properties alone keeps every keyword of each."""
    properties = {
        "tree": {"type": "string", "minLength": 2, "description": "Which."},
        "age": {"enum": [1, "old", None]},
    }
    provider = await case.hosting(RecordedTool(properties=properties).hosted)
    definition = await only_one(case, provider)
    case.require(
        definition.complete_schema() == closed(properties),
        expected=f"the schema {closed(properties)}",
        happened=f"it is {definition.complete_schema()}",
    )
