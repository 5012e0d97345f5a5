"""How the provider plays each situation of the decision table, in every form that the wire knows."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from treelang_conformance.cases.fallback import PROGRAM, FallbackCase
from treelang_conformance.checks.transport._vocabulary import SHORT_TIMEOUT, events_to_first_text, held, stream_of
from treelang_conformance.neutral import Answer, Failure, Finish
from treelang_conformance.provider.script import Close, Gate, Raw, Reply, Reset, Script, Stall

REJECTION_WORDS_STATUSES = (401, 403, 404, 408, 429, 500, 503)
SERVER_ERRORS = (500, 502, 503, 529)
BAD_REQUESTS = (400, 404, 422)
_WITH_RETRY_AFTER = (429, 500)


@dataclasses.dataclass(frozen=True, slots=True)
class Play:
    """One example of a situation.

    Attributes:
        about: What distinguishes it from the situation's other examples; empty where it is the only one.
        replies: What the provider answers, request by request; any further request is answered with a program.
        timeout: Seconds to configure on the client, where it is to wait in vain.
        cancel_at: Where the provider stands when the evaluation is cancelled.
    """

    about: str
    replies: tuple[Answer | Script, ...]
    timeout: float | None = None
    cancel_at: Gate | None = None


Plays: TypeAlias = Callable[[FallbackCase], Iterator[Play]]

INVALID_JSON = {
    "prose": Answer.of("The tallest tree is a coast redwood, ", "at 115.9 m."),
    "a program cut short": Answer.of('{"type": "program", "mode": ', '"single"'),
    "a program in single quotes": Answer.of("{'type': 'program', 'mode': 'single', 'body': []}"),
}
INVALID_PROGRAMS = {
    "an empty object": Answer.of("{}"),
    "a list": Answer.of("[]"),
    "a node of an unknown type": Answer.of('{"type": "program", "mode": "single", ', '"body": [{"type": "x"}]}'),
    "a call of a tool that there is not": Answer.of(
        '{"type": "program", "mode": "single", "body": [{"type": "function", "name": "width", "params": []}]}'
    ),
    "a program of another format": Answer.of(
        '{"type": "program", "schema_version": "2.0", "body": [{"type": "literal", "value": 1}]}'
    ),
}
_INVALID = INVALID_JSON["prose"]


def _rejections(case: FallbackCase) -> Iterator[tuple[str, Script]]:
    for name, failure in case.wire.rejections().items():
        yield f"the rejection {name!r}", case.wire.error(failure)


def _rejection(case: FallbackCase) -> Script:
    return next(script for _, script in _rejections(case))


def _accepted(_: FallbackCase) -> Iterator[Play]:
    yield Play("", (PROGRAM,))


def _rejected(case: FallbackCase) -> Iterator[Play]:
    for name, rejection in _rejections(case):
        yield Play(name, (rejection,))


def _look_alikes(case: FallbackCase) -> Iterator[Play]:
    for name, failure in case.wire.look_alikes().items():
        yield Play(f"the failure {name!r}", (case.wire.error(failure),))


def _rejected_in_words(case: FallbackCase) -> Iterator[Play]:
    statuses = itertools.cycle(REJECTION_WORDS_STATUSES)  # every form once, and every status
    for (name, failure), status in zip(case.wire.rejections().items(), statuses, strict=False):
        worded = dataclasses.replace(failure, status=status)
        yield Play(f"the rejection {name!r} under status {status}", (case.wire.error(worded),))


def _failing(*statuses: int) -> Plays:
    def plays(case: FallbackCase) -> Iterator[Play]:
        for status in statuses:
            yield Play(f"status {status}", (case.wire.error(Failure(status)),))
        if statuses[0] in _WITH_RETRY_AFTER:  # which SDKs take for an invitation
            inviting = Failure(statuses[0], headers={"retry-after": "0"})
            yield Play(f"status {statuses[0]} and retry-after: 0", (case.wire.error(inviting),))

    return plays


def _timed_out(case: FallbackCase) -> Iterator[Play]:
    yield Play("", (_unanswered(case),), timeout=SHORT_TIMEOUT)


def _unanswered(case: FallbackCase) -> Reply:
    return dataclasses.replace(held(case.script(PROGRAM), Gate()), before=(Stall(),))


def _connection_lost(_: FallbackCase) -> Iterator[Play]:
    yield Play("a connection that is closed", (Raw((Close(),)),))
    yield Play("a connection that is reset", (Raw((Reset(),)),))


def _cancelled(case: FallbackCase) -> Iterator[Play]:
    gate = Gate()
    yield Play("", (held(case.script(PROGRAM), gate),), cancel_at=gate)


def _unusable(case: FallbackCase) -> Iterator[Play]:
    yield Play("a page of HTML", (Reply.bytes(b"<html>Welcome</html>", headers={"content-type": "text/html"}),))
    yield Play("an empty body", (Reply(headers={"content-type": "application/json"}),))
    yield Play("an answer cut off at the length limit", (dataclasses.replace(PROGRAM, finish=Finish.LENGTH),))


def _always(answers: Mapping[str, Answer]) -> Plays:
    def plays(_: FallbackCase) -> Iterator[Play]:
        for name, answer in answers.items():
            yield Play(name, (answer,) * 9)

    return plays


def _at_first(answers: Mapping[str, Answer]) -> Plays:
    def plays(_: FallbackCase) -> Iterator[Play]:
        for name, answer in answers.items():
            yield Play(name, (answer, PROGRAM))

    return plays


def _after(first: Callable[[FallbackCase], Answer | Script], then: Plays) -> Plays:
    """A situation in which another one begins with the second request."""

    def plays(case: FallbackCase) -> Iterator[Play]:
        for play in then(case):
            yield dataclasses.replace(play, replies=(first(case), *play.replies))

    return plays


def _rejected_twice(case: FallbackCase) -> Iterator[Play]:
    for name, rejection in _rejections(case):
        yield Play(f"{name}, twice", (rejection, rejection))
    for name, failure in case.wire.look_alikes().items():
        if failure.status in (400, 422):
            yield Play(f"a rejection and then the failure {name!r}", (_rejection(case), case.wire.error(failure)))


def _rejected_in_mid_stream(case: FallbackCase) -> Iterator[Play]:
    begun = events_to_first_text(case, PROGRAM)
    for name, rejection in case.wire.rejections().items():
        for form, event in case.wire.error_events(dataclasses.replace(rejection, status=400)).items():
            yield Play(f"the words of the rejection {name!r} in the form {form!r}", (stream_of([*begun, event]),))


def _lost_in_mid_stream(case: FallbackCase) -> Iterator[Play]:
    begun = events_to_first_text(case, PROGRAM)
    yield Play("a connection that is closed", (stream_of(begun, Close()),))
    yield Play("a connection that is reset", (stream_of(begun, Reset()),))


def _stalled_in_mid_stream(case: FallbackCase) -> Iterator[Play]:
    yield Play("", (stream_of(events_to_first_text(case, PROGRAM), Stall()),), timeout=SHORT_TIMEOUT)


PLAYS: Mapping[str, Plays] = {
    "accepted": _accepted,
    "rejected": _rejected,
    "look-alike": _look_alikes,
    "rejected-in-words": _rejected_in_words,
    "unauthorized": _failing(401),
    "forbidden": _failing(403),
    "rate-limited": _failing(429),
    "server-error": _failing(*SERVER_ERRORS),
    "bad-request": _failing(*BAD_REQUESTS),
    "timed-out": _timed_out,
    "connection-lost": _connection_lost,
    "cancelled": _cancelled,
    "unusable": _unusable,
    "invalid-json": _always(INVALID_JSON),
    "invalid-program": _always(INVALID_PROGRAMS),
    "prose-at-first": _at_first(INVALID_JSON),
    "invalid-without-retries": _always(INVALID_JSON),
    "failed-at-the-retry": _after(lambda _: _INVALID, _failing(429)),
    "rejected-at-the-retry": _after(lambda _: _INVALID, lambda case: itertools.islice(_rejected(case), 1)),
    "rejected-then-invalid": _after(_rejection, _at_first(INVALID_PROGRAMS)),
    "rejected-twice": _rejected_twice,
    "rejected-then-unauthorized": _after(_rejection, _failing(401)),
    "rejected-then-rate-limited": _after(_rejection, _failing(429)),
    "rejected-then-server-error": _after(_rejection, _failing(*SERVER_ERRORS)),
    "rejected-then-timed-out": _after(_rejection, _timed_out),
    "rejected-then-connection-lost": _after(_rejection, _connection_lost),
    "rejected-then-cancelled": _after(_rejection, _cancelled),
    "rejected-in-mid-stream": _rejected_in_mid_stream,
    "lost-in-mid-stream": _lost_in_mid_stream,
    "stalled-in-mid-stream": _stalled_in_mid_stream,
    "not-declared": _accepted,
    "incapable": _accepted,
}
"""By the id of the situation."""
