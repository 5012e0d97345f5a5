"""Clauses that no check of a transport can prove, and why; every other clause has a check."""

from __future__ import annotations

from collections.abc import Mapping

from treelang_conformance.clauses import clauses

_ARBORIST = "it is about who asks a transport and falls back, not about a transport"
_NEGOTIATOR = "it is about negotiators, for which the kit has no checks yet"
_TOOLS = "it is about tool providers, for which the kit has no checks yet"

REASONS_FOR_NO_CHECK: Mapping[str, str] = {
    **dict.fromkeys((f"FBK-{number}" for number in (5, 6, 7, 8, 9, 10, 11, 14)), _ARBORIST),
    "CAP-4": "the manifest of models is the matrix's, which compares it with the adapter: treelang matrix check",
    "SEC-4": "it is about observability events, which no transport emits",
    **{clause.id: _NEGOTIATOR for clause in clauses() if clause.family == "NEG"},
    **{clause.id: _TOOLS for clause in clauses() if clause.family == "TOL"},
}
"""The reason by the id of the clause."""
