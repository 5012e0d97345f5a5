"""Finding a subject's factory by `module:attribute`, with a mend for everything that can go wrong."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from treelang_conformance.clauses import unknown
from treelang_conformance.endpoint import TransportFactory


class TargetError(Exception):
    """There is no usable factory at the target; the message says what to mend."""


def load_factory(target: str) -> TransportFactory:
    """Import the factory at `module:attribute`; the current folder is importable.

    Raises:
        TargetError: The target is not of this form, cannot be imported, has no such attribute, or is not callable.
    """
    module_name, colon, path = target.partition(":")
    if not (module_name and colon and path):
        raise TargetError(f"target {target!r}: write it as module:attribute, for instance acme.testing:make")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: object = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            mend = "run this from the folder that holds it, or install the package"
        else:
            mend = "install what the module imports"
        raise TargetError(f"target {target!r}: no module named {error.name!r}; {mend}") from None
    except (Exception, SystemExit) as error:  # a script without a guard may even exit
        raise TargetError(
            f"target {target!r}: importing {module_name} raised {type(error).__name__}: {_one_line(error)}"
        ) from None
    for name in path.split("."):
        if not hasattr(found, name):
            raise TargetError(f"target {target!r}: {unknown('attribute', name, vars(found))}")
        found = getattr(found, name)
    if not callable(found):
        raise TargetError(
            f"target {target!r}: is of type {type(found).__name__} and not callable;"
            " name a function that takes an endpoint and returns a transport"
        )
    return found


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
