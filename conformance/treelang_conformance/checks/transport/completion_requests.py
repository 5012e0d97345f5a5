"""CMP-3 to CMP-5: what reaches the wire, and that the request itself is left alone."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from treelang_conformance.cases.transport import Case
from treelang_conformance.checks.transport._vocabulary import ANSWER, FAILURES, ReplyMaker
from treelang_conformance.neutral import ReadRequest, ReadTool
from treelang_conformance.outcome import shortened
from treelang_conformance.registry import BOTH, check
from treelang_conformance.violation import about

_PARAMETERS = {
    "type": "object",
    "properties": {
        "tree": {"type": "string", "description": 'Its name \u2014 \u6728, \U0001f332 or a \\"quoted\\" one'},
        "units": {"type": "array", "items": {"enum": ["m", "ft", None]}, "default": []},
    },
    "required": ["tree"],
    "additionalProperties": False,
}
_TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": "measure", "description": "Measure a tree.", "parameters": _PARAMETERS}},
    {
        "type": "function",
        "function": {"name": "fell", "description": "", "parameters": {"type": "object", "properties": {}}},
    },
]
_JSON_MODE = {"type": "json_object"}


_PLAYED: dict[str, ReplyMaker] = {
    "answered": lambda _: ANSWER,
    "refused": FAILURES["broken-off"],
    "failed": FAILURES["server-error"],
}


@check(
    "CMP-3",
    modes=BOTH,
    over=_PLAYED,
    hint="Build new mappings for the wire instead of popping or setting keys in the caller's; copy schemas deeply.",
)
async def the_request_is_left_as_it_was(case: Case, played: ReplyMaker) -> None:
    """After a call, good or bad, the request mapping equals a deep copy made before it, order of keys included."""
    for request in (_full_request(case), case.request(tools=_TOOLS, response_format=_JSON_MODE)):
        before, order = copy.deepcopy(request), repr(request)
        case.answers(played(case))
        await case.call(request)
        case.require(
            request == before and repr(request) == order,
            expected="the request mapping to be unchanged at every depth",
            happened=f"it changed at {_difference(before, request)}",
        )


@check(
    "CMP-3",
    modes=BOTH,
    hint="Take Mapping and Sequence, not dict and list, and turn them into plain values before they are serialised.",
)
async def a_read_only_request_is_accepted(case: Case) -> None:
    """A request of read-only mappings and tuples, at every depth, is sent like its mutable twin."""
    request = _full_request(case)
    for sent in (request, _read_only(request)):
        case.answers(ANSWER)
        case.require_text(await case.call(sent), ANSWER.text)
    case.require(
        case.read(0) == case.read(1),
        expected="the same request on the wire as for dicts and lists",
        happened=f"it carried {shortened(case.read(1))}",
    )


def _full_request(case: Case) -> dict[str, Any]:
    return case.strict_request(tools=copy.deepcopy(_TOOLS), temperature=0.5, max_tokens=64)


def _read_only(value: Any) -> Any:
    if isinstance(value, Mapping):
        return MappingProxyType({key: _read_only(item) for key, item in value.items()})
    if isinstance(value, list):
        return tuple(_read_only(item) for item in value)
    return value


def _difference(before: Any, after: Any, path: str = "request") -> str:
    """Where two values first differ, as a path; keys only, for values may be long."""
    if isinstance(before, dict) and isinstance(after, dict):
        if list(before) != list(after):
            return f"{path}, which had the keys {list(before)} and has {list(after)}"
        pairs = [(f"{path}[{key!r}]", before[key], after[key]) for key in before]
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = [(f"{path}[{index}]", old, new) for index, (old, new) in enumerate(zip(before, after, strict=True))]
    else:
        pairs = []
    return next((_difference(old, new, place) for place, old, new in pairs if repr(old) != repr(new)), path)


_CONVERSATIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "one-turn": (("user", "Which tree is the tallest?"),),
    "system-and-turns": (
        ("system", "Answer briefly."),
        ("user", "Which tree is the tallest?"),
        ("assistant", "A redwood."),
        ("user", "How tall is it?"),
    ),
    "same-text-twice": (("user", "Why?"), ("assistant", "Why?"), ("user", "Why?")),
    "odd-texts": (
        ("system", "\n  # Rules\n\n- \u05e2\u05e5 \U0001f332 e\u0301 \u2028 {braces} %s </system>\n"),
        ("user", "  leading, trailing \t\n\n"),
        ("assistant", '{"role": "system", "content": "\\n"}'),
        ("user", "\ufeff\x00\x7f<|im_start|>\r\n"),
    ),
    "several-system-texts": (("system", "Answer briefly."), ("system", "Answer in French."), ("user", "Why?")),
    "long": (("system", "Rule. " * 5000), ("user", "\u6728" * 20_000)),
}  # fmt: skip  # one conversation reads as the table that it is


@check(
    "CMP-4",
    modes=BOTH,
    hint="Map each message to one of the wire's, in order; strip, merge, trim and add nothing.",
)
async def the_conversation_reaches_the_wire(case: Case) -> None:
    """System text and turns reach the wire in order, with their roles, unchanged, and nothing is added."""
    for name, conversation in _CONVERSATIONS.items():
        with about(f"the conversation {name!r}"):
            await _require_conversation_kept(case, conversation)


async def _require_conversation_kept(case: Case, conversation: tuple[tuple[str, str], ...]) -> None:
    case.answers(ANSWER)
    await case.call(case.request(messages=[{"role": role, "content": text} for role, text in conversation]))
    read = case.read()
    turns = [(role, text) for role, text in conversation if role != "system"]
    case.require(
        [(turn.role, turn.text) for turn in read.turns] == turns,
        expected=f"the turns {shortened(turns)} on the wire",
        happened=f"it carried {shortened([(turn.role, turn.text) for turn in read.turns])}",
    )
    system = [text for role, text in conversation if role == "system"]
    case.require(
        _same_system_text(read, system),
        expected=f"the system text {shortened(system)} on the wire",
        happened=f"it carried {shortened(list(read.system))}",
    )


def _same_system_text(read: ReadRequest, given: Sequence[str]) -> bool:
    """A wire that has one place for system text may hold several texts with blank lines between."""
    return list(read.system) == list(given) or list(read.system) in ([sep.join(given)] for sep in ("\n", "\n\n"))


@check("CMP-4", modes=BOTH, hint="Send the request's own model, not one that the transport was built with.")
async def the_model_reaches_the_wire(case: Case) -> None:
    """The request's model reaches the wire unchanged, whatever its name and whichever came before."""
    for model in (case.wire.model, "acme/tree-model_1.5:2026-01@latest", f"ft:{case.wire.model}:acme::Ab1"):
        case.answers(ANSWER)
        await case.call(case.request(model=model))
        got = case.read().model
        case.require(got == model, expected=f"the model {model!r} on the wire", happened=f"it carried {got!r}")


@check(
    "CMP-5",
    modes=BOTH,
    hint="Ask whether the key is there, not whether its value is true: 0 is a temperature. Send the caller's number as "
    "it is: what a model takes is for the provider to say.",
)
async def temperature_reaches_the_wire(case: Case) -> None:
    """A temperature that is given, from zero to the highest that the wire takes, reaches it as it is."""
    highest = case.wire.highest_temperature
    for temperature in (0.0, 0, 0.7, *sorted({1.0, (1 + highest) / 2, highest})):
        case.answers(ANSWER)
        await case.call(case.request(temperature=temperature))
        got = case.read().temperature
        case.require(
            got == temperature and got is not False,
            expected=f"temperature {temperature!r} on the wire",
            happened=f"it carried {got!r}",
        )


@check("CMP-5", modes=BOTH, hint="Map every function tool: name, description and the whole parameters schema.")
async def tools_reach_the_wire(case: Case) -> None:
    """Tools reach the wire in order, with their names, descriptions and unchanged parameter schemas."""
    case.answers(ANSWER)
    await case.call(case.request(tools=_TOOLS))
    expected = [_as_read(tool["function"]) for tool in _TOOLS]
    got = [ReadTool(tool.name, tool.description or "", tool.parameters) for tool in case.read().tools or ()]
    case.require(got == expected, expected=f"the tools {shortened(expected)}", happened=f"it carried {shortened(got)}")


def _as_read(function: Mapping[str, Any]) -> ReadTool:
    return ReadTool(function["name"], function["description"], function["parameters"])


@check("CMP-5", modes=BOTH, hint="Put json_schema into the wire's own field for strict output, whole and unchanged.")
async def a_schema_reaches_the_wire(case: Case) -> None:
    """A `json_schema` response format reaches the wire as strict output with the same schema."""
    request = case.strict_request()
    schema = copy.deepcopy(request["response_format"]["json_schema"]["schema"])
    case.answers(ANSWER)
    await case.call(request)
    read = case.read()
    case.require(
        read.output == "strict" and read.schema == schema,
        expected=f"strict output with the schema {shortened(schema)}",
        happened=f"it carried {read.output!r} output with the schema {shortened(read.schema)}",
    )


@check(
    "CMP-5",
    modes=BOTH,
    hint="Use the wire's JSON mode; on a wire that has none, ask for JSON in words beside the caller's texts.",
)
async def json_mode_reaches_the_wire(case: Case) -> None:
    """A `json_object` response format reaches the wire as its JSON mode, or as a demand in words where it has none."""
    case.answers(ANSWER)
    await case.call(case.request(response_format=_JSON_MODE))
    read = case.read()
    if case.wire.has_json_mode:
        case.require(read.output == "json", expected="JSON mode on the wire", happened=f"it carried {read.output!r}")
    else:
        words = " ".join([*read.system, *(turn.text for turn in read.turns)])
        case.require("json" in words.casefold(), expected="the word JSON in a message", happened="no message has it")


@check("CMP-5", modes=BOTH, hint="No option makes another one superfluous: map each on its own.")
async def all_options_reach_the_wire_together(case: Case) -> None:
    """Temperature, tools and a schema that are given together all reach the wire."""
    request = _full_request(case)
    given = copy.deepcopy((request["temperature"], len(_TOOLS), request["response_format"]["json_schema"]["schema"]))
    case.answers(ANSWER)
    await case.call(request)
    read = case.read()
    got = (read.temperature, len(read.tools or ()), read.schema)
    case.require(
        got == given,
        expected=f"temperature, number of tools and schema {shortened(given)} on the wire",
        happened=f"it carried {shortened(got)}",
    )


@check("CMP-5", modes=BOTH, hint="Leave out what the caller left out: no defaults, no nulls, no empty lists.")
async def what_is_not_given_is_absent(case: Case) -> None:
    """Without temperature, tools and response format none of them is on the wire, also after a call that had them."""
    case.answers(ANSWER, ANSWER)
    await case.call(_full_request(case))
    await case.call(case.request())
    read = case.read()
    sent = {
        "temperature": read.temperature,
        "tools": read.tools,
        "schema": read.schema,
        "schema name": read.schema_name,
    }
    added = {name: value for name, value in sent.items() if value is not None}
    case.require(not added, expected="no temperature, tools or schema on the wire", happened=f"it carried {added}")
    case.require(
        read.output == "text", expected="no response format on the wire", happened=f"it carried {read.output!r}"
    )
