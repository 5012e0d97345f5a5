"""All mutants, gathered from the modules beside this one, and subjects with nothing broken as their controls."""

from __future__ import annotations

import importlib
import pkgutil

from tests.conformance import mutants
from tests.conformance.mutants.mutation import CHAT, MESSAGES, MUTANTS, RESPONSES, Mutant, Mutation
from tests.conformance.mutants.negotiators import NegotiatorMutation
from tests.conformance.support.tools import PlainToolProvider
from treelang_conformance.registry import SuiteName


class NothingBroken(Mutation):
    """Nothing: over the same client as the mutants, an adapter that keeps every clause."""


class NothingBrokenInNegotiation(NegotiatorMutation):
    """Nothing: made like the mutants, a negotiator that keeps every clause."""


CONTROLS = (
    *(
        Mutant(NothingBroken, (), {}, wire, suite)
        for suite in (SuiteName.TRANSPORT, SuiteName.FALLBACK)
        for wire in (CHAT, RESPONSES, MESSAGES)
    ),
    Mutant(NothingBrokenInNegotiation, (), {}, suite=SuiteName.NEGOTIATOR),
    Mutant(PlainToolProvider, (), {}, suite=SuiteName.TOOLS),
)


def catalogue() -> tuple[Mutant, ...]:
    """Every mutant once for each of its wires, suite by suite, in the order of the modules."""
    for module in pkgutil.iter_modules(mutants.__path__, mutants.__name__ + "."):
        if not module.name.endswith(".table"):
            importlib.import_module(module.name)
    order = list(SuiteName)
    return tuple(sorted(MUTANTS, key=lambda mutant: order.index(mutant.suite)))
