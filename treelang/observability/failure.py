"""What of a failure may come out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_LONGEST_CHAIN = 10


def describe_failure(error: BaseException) -> dict[str, Any]:
    """Attributes that tell a failure: types and the fields of treelang's errors.

    What exceptions say in words, which quotes what they were given, is in `error` and so counts as content.
    """
    chain = list(_chain(error))
    fields = {name: getattr(error, name, None) for name in ("provider", "status_code", "code", "retry_after")}
    limits = {name: getattr(error, name, None) for name in ("resource", "limit")}
    return {
        "error_type": type(error).__name__,
        "error_causes": [type(link).__name__ for link in chain[1:]],
        **{name: value for name, value in (fields | limits).items() if isinstance(value, str | int | float)},
        "error": [f"{type(link).__name__}: {_words(link)}" for link in chain],
    }


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, what it came from, and what groups among them hold, as a traceback would show them."""
    ahead: list[BaseException] = [error]
    seen: set[int] = set()
    while ahead and len(seen) < _LONGEST_CHAIN:
        link = ahead.pop(0)
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        if isinstance(link, BaseExceptionGroup):
            ahead += link.exceptions
        cause = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
        if cause is not None:
            ahead.append(cause)


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as failure:
        return f"<{type(failure).__name__} while it was put into words>"
