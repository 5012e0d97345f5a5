"""Finding a subject's factory by `module:attribute`, with a mend for everything that can go wrong."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from treelang_conformance.clauses import unknown
from treelang_conformance.registry import SuiteName
from treelang_conformance.subject import AnySubject, Subject, subject_type


class TargetError(Exception):
    """There is no usable factory at the target; the message says what to mend."""


_FACTORIES = {
    SuiteName.NEGOTIATOR: "takes nothing and returns a negotiator",
    SuiteName.TOOLS: "takes a sequence of tools and returns a tool provider that offers them",
}


def load_subject(suite: SuiteName, target: str, features: frozenset[str] | None = None) -> AnySubject:
    """The subject whose factory is at `module:attribute`.

    Raises:
        TargetError: There is no usable factory at the target.
        UnknownFeatureError: A feature does not exist.
    """
    what = _FACTORIES.get(suite, "takes an endpoint and returns a transport")
    factory = load_factory(target, what)
    if suite.has_wire:
        return Subject(factory, target=target, features=features)
    if features is not None:
        raise TargetError(f"features are what a transport offers; leave them out with the suite {suite}")
    return subject_type(suite)(factory, target=target)


def load_factory(target: str, what: str) -> Callable[..., Any]:
    """Import the factory at `module:attribute`; the current folder is importable.

    Args:
        target: Where it is.
        what: What a factory does, for the error of something that is none.

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
            f"target {target!r}: is of type {type(found).__name__} and not callable; name a function that {what}"
        )
    return found


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
