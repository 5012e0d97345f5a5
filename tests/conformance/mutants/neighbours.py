"""Mutants in which what one call has seen is taken for another's."""

from __future__ import annotations

from typing import ClassVar

from tests.conformance.mutants.mutation import CHAT, MESSAGES, Mutation, mutant, remade
from treelang import ErrorTranslator, ModelConnectionError, ProviderResponseError
from treelang_conformance.endpoint import Endpoint


class _RemembersTheLastStatus(ErrorTranslator):
    """Takes a lost connection for the failing status that was seen last, whichever call saw it."""

    last: ClassVar[ProviderResponseError | None] = None

    def translate(self, error: Exception) -> ProviderResponseError:
        translated = super().translate(error)
        if translated.status_code is not None:
            type(self).last = translated
        elif isinstance(translated, ModelConnectionError) and self.last is not None:
            return remade(self.last)
        return translated


@mutant("STR-8", wires=(CHAT, MESSAGES))
class LendsOneCallsStatusToAnother(Mutation):
    """A connection that is lost raises the failing status that the transport was answered with last."""

    translator_class = _RemembersTheLastStatus

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        _RemembersTheLastStatus.last = None
