"""What must come to light nowhere, replies that give it back, and the search for it in objects of any kind."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import FunctionType, MethodType, ModuleType
from typing import Any

from treelang import TreelangError
from treelang_conformance import canaries
from treelang_conformance.cases.transport import Case
from treelang_conformance.checks.transport._faults import Place, answered_until, in_band
from treelang_conformance.neutral import Answer, Failure, Finish, Refusal, ToolCall
from treelang_conformance.provider.script import Close, Reply, Script

TOOL_TEXT = "canary-tool-text-77c1"
SECRETS = {**canaries.ALL, "the tool argument": TOOL_TEXT}
"""Each canary by what it stands for."""

_ALL_AT_ONCE = " ".join(SECRETS.values())


def telling_request(case: Case, **changes: Any) -> dict[str, Any]:
    """A strict request with tools that holds every canary but the key, which is in a header."""
    parameters = {"type": "object", "properties": {"tree": {"type": "string", "default": TOOL_TEXT}}}
    function = {"name": "measure", "description": f"Measure a tree. {TOOL_TEXT}", "parameters": parameters}
    return case.strict_request(tools=[{"type": "function", "function": function}], **changes)


def echoes(case: Case) -> dict[str, Answer | Script]:
    """Replies that fail a call and give its secrets back, wherever a provider has room for words."""
    page = f"<html><title>{_ALL_AT_ONCE}</title></html>".encode()
    rejection = next(iter(case.wire.rejections().values()))
    arguments = json.dumps({"tree": _ALL_AT_ONCE})
    headers = dict.fromkeys(("x-request-id", "request-id", "retry-after", "x-error"), _ALL_AT_ONCE)
    return {
        **{
            f"the message of a status {status}": case.wire.error(Failure(status, _ALL_AT_ONCE))
            for status in (400, 401, 403, 404, 429, 500)
        },
        "the headers of a failing response": case.wire.error(Failure(500, headers=headers)),
        "the message of a rejection": case.wire.error(
            Failure(rejection.status, f"{rejection.message} {_ALL_AT_ONCE}", rejection.type, rejection.code)
        ),
        **{name: reply for what, secret in SECRETS.items() for name, reply in _as_names(case, what, secret).items()},
        "an error page": Reply.bytes(page, status=502, headers={"content-type": "text/html"}),
        "a page in place of an answer": Reply.bytes(page, headers={"content-type": "text/html"}),
        "malformed JSON": Reply.bytes(f'{{"{_ALL_AT_ONCE}'.encode(), headers={"content-type": "application/json"}),
        "JSON of another shape": Reply.json({_ALL_AT_ONCE: [_ALL_AT_ONCE]}),
        "an event that is no JSON": Reply.bytes(
            f"data: {_ALL_AT_ONCE}\n\n".encode(), headers={"content-type": "text/event-stream"}
        ),
        "a redirect": Reply(302, {"location": f"/{canaries.API_KEY}?{TOOL_TEXT}"}),
        "an answer that was broken off": Answer.of(_ALL_AT_ONCE, finish=Finish.LENGTH),
        "a tool call": Answer((ToolCall(TOOL_TEXT, arguments),), Finish.TOOL_CALLS),
        "a refusal": Answer((Refusal(_ALL_AT_ONCE),)),
        "a lost connection": answered_until(case, Place.INSIDE_HEADERS, Close()),
    }


def _as_names(case: Case, what: str, secret: str) -> Mapping[str, Reply]:
    failure = Failure(400, secret, type=secret, code=secret, param=secret)
    return {
        f"{what} as a code": case.wire.error(failure),
        f"{what} inside a longer code": case.wire.error(Failure(400, type=f"invalid_{secret}", code=f"bad.{secret}")),
        **{f"{what} as a code in-band in the form {form!r}": reply for form, reply in in_band(case, failure).items()},
    }


def leaks(error: BaseException) -> list[str]:
    """Where an error tells secrets: its text, args and attributes, and those of contract errors it came from."""
    found: list[str] = []
    ahead: list[BaseException | None] = [error]
    seen: list[BaseException] = []
    while ahead:
        link = ahead.pop()
        if link is None or link in seen or not (link is error or isinstance(link, TreelangError)):
            continue
        seen.append(link)
        places = {"str": str(link), "repr": repr(link), "args": link.args, **_attributes(link)}
        found += [f"{what} in its {place}" for place, value in places.items() for what in secrets_in(value)]
        ahead += (link.__context__, link.__cause__)
    return found


def _attributes(error: BaseException) -> dict[str, Any]:
    return {f"attribute {name}": value for name, value in vars(error).items()}


def secrets_in(value: Any) -> list[str]:
    """The secrets that a value holds at any depth, by what they stand for."""
    texts = "\n".join(_texts(value, set()))
    return [what for what, secret in SECRETS.items() if secret in texts]


def _texts(value: Any, seen: set[int]) -> Iterator[str]:
    """All text in a value: of its items, its attributes and its `repr`."""
    if value is None or id(value) in seen or isinstance(value, (type, ModuleType, FunctionType, MethodType)):
        return
    seen.add(id(value))
    match value:
        case str():
            yield value
        case bytes() | bytearray():
            yield value.decode("latin-1")
        case Mapping():
            for key, item in value.items():
                yield from _texts(key, seen)
                yield from _texts(item, seen)
        case list() | tuple() | set() | frozenset():
            for item in value:
                yield from _texts(item, seen)
        case _:
            yield repr(value)
            yield from _texts(getattr(value, "__dict__", None), seen)
