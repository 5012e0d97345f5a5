"""TOL-1: what there is to be found, and what is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from treelang import ToolDefinition, ToolNotFoundError, ToolProvider
from treelang_conformance.cases.tools import ToolsCase
from treelang_conformance.checks.tools._hosted import INTEGER, TEXT, RecordedTool, closed
from treelang_conformance.checks.tools._use import called, listed, looked_up
from treelang_conformance.outcome import shortened, type_name
from treelang_conformance.registry import SuiteName, check
from treelang_conformance.violation import about

_DESCRIPTIONS: Mapping[str, str | None] = {
    "measure": "The height of a tree.",
    "Measure": None,
    "plant_tree": 'Plants a "tree".\n\nSeveral lines, with <b>markup</b> and \u6728 \U0001f332.',
    "web-search": None,
    "maps.find": "x" * 2_000,
    "m" * 60: "A long name.",
}
"""Names that differ in case, have hyphens and dots, or are long; with and without descriptions."""

_ORDERS = (("zebra", "ant", "mole", "bee"), ("b", "a"), ("x10", "x9", "x1"), ("one",), ())
_UNKNOWN = ("", "measur", "measures", "MEASURE", "measure ", " measure", "no.such.tool", "m\u00e9sure", "*")


def _tools() -> list[RecordedTool]:
    return [
        RecordedTool(name, schema=closed({"tree": TEXT}), description=description)
        for name, description in _DESCRIPTIONS.items()
    ]


@check("TOL-1", suite=SuiteName.TOOLS, hint="Read every page of a source's listing, and name no tool twice.")
async def every_tool_is_listed_once(case: ToolsCase) -> None:
    """The listing has every tool under its own name, once, however names are spelt."""
    provider = await case.hosting(*(tool.hosted for tool in _tools()))
    found = Counter(definition.name for definition in await listed(case, provider))
    case.require(
        found == Counter(_DESCRIPTIONS.keys()),
        expected=f"the names {', '.join(map(shortened, sorted(_DESCRIPTIONS)))}, each once",
        happened=f"it lists {', '.join(map(shortened, sorted(found.elements())))}",
    )


@check("TOL-1", suite=SuiteName.TOOLS, hint="Where there is nothing, list nothing.")
async def no_tools_are_an_empty_listing(case: ToolsCase) -> None:
    """A provider of no tools lists none, and finds none."""
    provider = await case.hosting()
    found = await listed(case, provider)
    case.require(not found, expected="an empty listing", happened=f"it lists {shortened(found)}")
    await _require_not_found(case, provider, "measure")


@check("TOL-1", suite=SuiteName.TOOLS, hint="A description is the tool's own text, or None.")
async def a_description_is_the_tools_own(case: ToolsCase) -> None:
    """A tool's description is what its author wrote, to the letter, and `None` where there is none."""
    provider = await case.hosting(*(tool.hosted for tool in _tools()))
    for definition in await listed(case, provider):
        expected = _DESCRIPTIONS.get(definition.name)
        case.require(
            definition.description == expected,
            expected=f"the description {shortened(expected)} of the tool {shortened(definition.name)}",
            happened=f"it is {shortened(definition.description)}",
        )


@check("TOL-1", suite=SuiteName.TOOLS, hint="Positional parameters go by this order: keep what the schema says.")
async def properties_keep_their_order(case: ToolsCase) -> None:
    """The properties of a tool come in the order of its schema."""
    tools = [
        RecordedTool(f"tool_{number}", schema=closed(dict.fromkeys(names, INTEGER)))
        for number, names in enumerate(_ORDERS)
    ]
    provider = await case.hosting(*(tool.hosted for tool in tools))
    for names, definition in zip(_ORDERS, await _in_order(case, provider, tools), strict=True):
        case.require(
            tuple(definition.properties) == names,
            expected=f"the properties {list(names)}, in this order",
            happened=f"they are {list(definition.properties)}",
        )


async def _in_order(case: ToolsCase, provider: ToolProvider, tools: Sequence[RecordedTool]) -> list[ToolDefinition]:
    found = {definition.name: definition for definition in await listed(case, provider)}
    return [found[tool.hosted.name] for tool in tools if tool.hosted.name in found]


@check("TOL-1", suite=SuiteName.TOOLS, hint="Make a definition in one place, for the listing and for the look-up.")
async def a_look_up_equals_the_listing(case: ToolsCase) -> None:
    """What is looked up by its name equals what the listing has under it, whichever comes first."""
    tools = [*_tools(), RecordedTool("sow", properties={"seed": TEXT, "depth": INTEGER}, description="Sows.")]
    provider = await case.hosting(*(tool.hosted for tool in tools))
    before = await looked_up(case, provider, "measure")
    definitions = {definition.name: definition for definition in await listed(case, provider)}
    for name, definition in [("measure", before)] + [
        (tool.hosted.name, await looked_up(case, provider, tool.hosted.name)) for tool in tools
    ]:
        case.require(
            definition == definitions.get(name) and definition.name == name,
            expected=f"{shortened(definitions.get(name))}, as in the listing",
            happened=f"the look-up gave {shortened(definition)}",
        )


@check("TOL-1", suite=SuiteName.TOOLS, hint="A listing is read and not used up.")
async def a_listing_can_be_had_again(case: ToolsCase) -> None:
    """A second listing equals the first, also after calls and look-ups of names that there are not."""
    provider = await case.hosting(*(tool.hosted for tool in _tools()))
    first = await listed(case, provider)
    await called(case, provider, "measure", {"tree": "redwood"})
    await called(case, provider, "nothing", {})
    second = await listed(case, provider)
    case.require(first == second, expected=shortened(first), happened=f"it lists {shortened(second)} now")


@check("TOL-1", suite=SuiteName.TOOLS, over={repr(name): name for name in _UNKNOWN}, hint="Compare names as they are.")
async def an_unknown_name_is_not_found(case: ToolsCase, name: str) -> None:
    """Looking up or calling a name that there is not raises `ToolNotFoundError`, and no tool is called."""
    tools = [RecordedTool(one) for one in ("measure", "plant")]
    provider = await case.hosting(*(tool.hosted for tool in tools))
    await _require_unknown(case, provider, name)
    reached = [tool.hosted.name for tool in tools if tool.came]
    case.require(not reached, expected="no tool to be called", happened=f"{reached} was called")


async def _require_unknown(case: ToolsCase, provider: ToolProvider, name: str) -> None:
    with about(f"the name {name!r}"):
        await _require_not_found(case, provider, name)
        ended = await called(case, provider, name, {})
        case.require(
            isinstance(ended.error, ToolNotFoundError), expected="ToolNotFoundError from a call", happened=str(ended)
        )


async def _require_not_found(case: ToolsCase, provider: ToolProvider, name: str) -> None:
    try:
        found = await looked_up(case, provider, name)
    except ToolNotFoundError:
        pass
    except Exception as error:
        case.require(False, expected="ToolNotFoundError", happened=f"the look-up raised {type_name(error)}")
    else:
        case.require(False, expected="ToolNotFoundError", happened=f"the look-up gave {shortened(found)}")
