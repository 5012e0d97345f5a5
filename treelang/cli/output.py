"""Results of programs on standard output."""

from __future__ import annotations

import json
from typing import Any


class UnshowableResultError(Exception):
    """A result that JSON text cannot hold; the message says why."""


def result_text(result: Any) -> str:
    """The JSON text of a program's result, for people and for other programs.

    Raises:
        UnshowableResultError: It is none, or too deep.
    """
    try:
        return json.dumps(result, ensure_ascii=False, indent=2)
    except TypeError:
        reason = "the program's result is a lambda that nothing applies, and no JSON value"
    except RecursionError:
        reason = "the program's result is nested too deep to be shown"
    raise UnshowableResultError(reason)
