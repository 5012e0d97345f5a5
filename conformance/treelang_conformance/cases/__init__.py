"""What checks are given: a class for each suite, in the module of its name, on the part that judges."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from treelang_conformance.registry import SuiteName

if TYPE_CHECKING:
    from treelang_conformance.cases.judge import Judge, Surroundings

_CLASSES = {
    SuiteName.TRANSPORT: "Case",
    SuiteName.FALLBACK: "FallbackCase",
    SuiteName.NEGOTIATOR: "NegotiatorCase",
    SuiteName.TOOLS: "ToolsCase",
}


def case_type(suite: SuiteName) -> Callable[[Surroundings], Judge]:
    """The class of a suite's cases, imported when it is asked for: the arborist's is of no use to a run without it."""
    module: Any = importlib.import_module(f"{__name__}.{suite}")
    found: Callable[[Surroundings], Judge] = getattr(module, _CLASSES[suite])
    return found
