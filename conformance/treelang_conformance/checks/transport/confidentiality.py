"""SEC-1 to SEC-3, SEC-5: keys, prompts, schemas and tool arguments reach the provider and nobody else."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

from treelang_conformance import canaries
from treelang_conformance.cases.transport import Case
from treelang_conformance.checks.transport._faults import ANSWER, Place, answered_until, call_each
from treelang_conformance.checks.transport._secrets import TOOL_TEXT, echoes, leaks, secrets_in, telling_request
from treelang_conformance.checks.transport._vocabulary import SHORT_TIMEOUT
from treelang_conformance.leftovers import HTTP_STACK
from treelang_conformance.neutral import Answer, Failure
from treelang_conformance.provider.script import Reply, Reset, Script, Stall, Step
from treelang_conformance.provider.server import Provider
from treelang_conformance.registry import BOTH, check
from treelang_conformance.violation import Violation, about

_OWN_WORDS = (
    "Make the text of an error of words that you know yourself: kinds, statuses, names. Copy no message, body, header "
    "or code of the provider's into it that you have not checked, and keep no response or request in an attribute."
)


@check("SEC-1", modes=BOTH, hint=_OWN_WORDS)
async def an_error_does_not_tell_what_the_provider_echoes(case: Case) -> None:
    """No text, arg, `repr` or attribute of an error holds a key, prompt, schema or tool text that a provider echoes."""
    for name, reply in echoes(case).items():
        error = await _error(case, telling_request(case), reply)
        with about(f"secrets in {name}"):
            _require_no_leak(case, error)


async def _error(case: Case, request: Any, *replies: Answer | Script) -> BaseException | None:
    case.answers(*replies)
    return (await case.call(request)).error


def _require_no_leak(case: Case, error: BaseException | None) -> None:
    found = leaks(error) if error is not None else []
    case.require(
        not found, expected="an error that holds no secret", happened=f"{type(error).__name__} tells {', '.join(found)}"
    )


@check(
    "SEC-1",
    modes=BOTH,
    hint="A timeout or a lost line happens with the whole request in hand: put nothing of it into texts, attributes or "
    "notes (`add_note`) of the error.",
)
async def an_error_of_the_line_does_not_tell_the_request(case: Case) -> None:
    """No text, arg, `repr`, attribute or note of the error for a timeout or a lost connection holds a secret."""
    steps: dict[str, Step] = {"stall": Stall(), "reset": Reset()}
    faults = {
        f"a {name} {place}": answered_until(case, place, step)
        for name, step in steps.items()
        for place in (Place.BEFORE_HEADERS, Place.INSIDE_BODY)
    }
    transport = await case.transport(timeout=SHORT_TIMEOUT)
    for name, outcome in (await call_each(case, faults, transport, telling_request(case))).items():
        with about(name):
            _require_no_leak(case, outcome.error)


@check("SEC-1", modes=BOTH, hint="Say what is wrong and where in the request, and not what stands there.")
async def a_refused_request_is_not_quoted(case: Case) -> None:
    """The error for a request that cannot be sent holds no prompt, schema or tool text of it."""
    words = canaries.USER_TEXT
    refused: dict[str, dict[str, Any]] = {
        "a content that is no text": {"messages": [{"role": "user", "content": {words: [words]}}]},
        "a message that is none": {"messages": [words]},
        "messages that are no list": {"messages": {words: words}},
        "a message without a role": {"messages": [{"content": words}]},
        "an unknown role": {"messages": [{"role": "narrator", "content": words}]},
        "a tool without a name": {"tools": [{"type": "function", "function": {"description": TOOL_TEXT}}]},
        "a tool that is none": {"tools": [TOOL_TEXT]},
        "a schema that is none": {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "a_tree", "strict": True, "schema": canaries.SCHEMA_TEXT},
            }
        },
    }
    for name, changes in refused.items():
        error = await _error(case, telling_request(case) | changes, case.wire.error(Failure(400)))
        with about(name):
            _require_no_leak(case, error)


@check("SEC-1", modes=BOTH, hint="HTTP libraries quote a header value that they refuse, and it is the credential's.")
async def a_key_that_no_header_takes_is_not_quoted(case: Case) -> None:
    """The error for an API key with a line break or a foreign letter in it does not hold the key."""
    for name, key in {"a line break": f"{canaries.API_KEY}\n", "a foreign letter": f"{canaries.API_KEY}\u0416"}.items():
        try:
            transport = await case.transport(api_key=key)
        except Violation:
            continue  # refused before there was a transport; what the factory then says is not judged
        case.answers(case.wire.error(Failure(401)))
        outcome = await case.call(transport=transport)
        with about(f"{name} in the key"):
            _require_no_leak(case, outcome.error)


@check("SEC-2", modes=BOTH, hint="A dataclass or a model shows all its fields: leave the key out of the `repr`.")
async def a_transport_does_not_show_its_key(case: Case) -> None:
    """`repr`, `str` and formatting of a transport hold no credential, before and after a call."""
    transport = await case.transport()
    _require_no_key_shown(case, transport)
    case.answers(ANSWER)
    await case.call()
    _require_no_key_shown(case, transport)


def _require_no_key_shown(case: Case, transport: Any) -> None:
    shown = {
        "repr": repr(transport),
        "str": str(transport),
        "format": f"{transport}",
        "its method": repr(transport.stream),
    }
    for what, text in shown.items():
        case.require(canaries.API_KEY not in text, expected="no key to be shown", happened=f"{what} shows it")


_LIBRARIES = HTTP_STACK | {"asyncio", "concurrent"}
"""Loggers, by the first part of their names, that are not the transport's own."""


@contextlib.contextmanager
def _all_records() -> Iterator[list[logging.LogRecord]]:
    """Every record that any logger makes, whatever its level and wherever it would have gone."""
    records: list[logging.LogRecord] = []
    root, make, disabled = logging.getLogger(), logging.getLogRecordFactory(), logging.root.manager.disable
    loggers = [root, *(one for one in root.manager.loggerDict.values() if isinstance(one, logging.Logger))]
    levels = {one: one.level for one in loggers if one.level != logging.NOTSET}

    def make_and_keep(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        records.append(record)
        return record

    logging.setLogRecordFactory(make_and_keep)
    logging.disable(logging.NOTSET)
    for one in levels:
        one.setLevel(1)
    try:
        yield records
    finally:
        logging.setLogRecordFactory(make)
        logging.disable(disabled)
        for one, level in levels.items():
            one.setLevel(level)


@check(
    "SEC-3",
    modes=BOTH,
    hint="Log kinds, statuses and sizes; no request, response or traceback, since the SDK's exception quotes both.",
)
async def the_transports_loggers_tell_no_secret(case: Case) -> None:
    """No record of a logger that is not the SDK's holds a key, prompt, schema or tool text, at any level."""
    request = telling_request(case)
    with _all_records() as records:
        case.answers(ANSWER)
        await case.call(request)
        for reply in echoes(case).values():
            await _error(case, request, reply)
        await _error(case, telling_request(case) | {"messages": [canaries.USER_TEXT]}, case.wire.error(Failure(400)))
    own = [record for record in records if record.name.partition(".")[0] not in _LIBRARIES]
    for record in own:
        found = secrets_in([logging.Formatter().format(record), vars(record)])
        case.require(
            not found,
            expected="log records without secrets",
            happened=f"the logger {record.name!r} writes {', '.join(found)} at level {record.levelname}",
        )


@check(
    "SEC-5",
    modes=BOTH,
    hint="HTTP clients of SDKs follow redirects, with the body and on some versions with the key: switch it off.",
)
async def a_redirect_to_another_origin_is_not_followed(case: Case) -> None:
    """When the provider redirects to another origin, nothing is sent there."""
    with Provider() as elsewhere:
        for status in (301, 302, 303, 307, 308):
            case.answers(Reply(status, {"location": f"{elsewhere.url}{case.wire.base_path}/elsewhere"}))
            await case.call(telling_request(case))
            with about(f"status {status}"):
                received = len(elsewhere.requests)
                case.require(
                    not received, expected="no request at the other origin", happened=f"it received {received}"
                )
