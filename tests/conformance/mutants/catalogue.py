"""All mutants, gathered from the modules beside this one, and an adapter with nothing broken as their control."""

from __future__ import annotations

import importlib
import pkgutil

from tests.conformance import mutants
from tests.conformance.mutants.mutation import CHAT, MESSAGES, MUTANTS, RESPONSES, Mutant, Mutation
from treelang_conformance.registry import SuiteName


class NothingBroken(Mutation):
    """Nothing: over the same client as the mutants, an adapter that keeps every clause."""


CONTROLS = tuple(
    Mutant(NothingBroken, (), {}, wire, suite)
    for suite in (SuiteName.TRANSPORT, SuiteName.FALLBACK)
    for wire in (CHAT, RESPONSES, MESSAGES)
)


def catalogue() -> tuple[Mutant, ...]:
    """Every mutant once for each of its wires, in the order of the modules."""
    for module in pkgutil.iter_modules(mutants.__path__, mutants.__name__ + "."):
        if not module.name.endswith(".table"):
            importlib.import_module(module.name)
    return tuple(MUTANTS)
