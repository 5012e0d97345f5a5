"""The one error of this package: an input that cannot be used."""

from __future__ import annotations

from pydantic import ValidationError


class MatrixInputError(Exception):
    """A manifest, a report or an import path that cannot be used; the text names the file, the field and the mend."""


def describe(error: ValidationError) -> str:
    """Return the first defect of `error` as one line that begins with the field, and how many more there are.

    The offending value is left out: the field says where to look, and a report may be somebody else's.
    """
    first, *others = error.errors(include_url=False, include_input=False)
    field = ".".join(str(part) for part in first["loc"]) or "(top level)"
    message = first["msg"].removeprefix("Value error, ")
    return f"{field}: {message}" + (f" (and {len(others)} more)" if others else "")
