"""Clauses that no check can prove, and why; every other clause has a check in one of the suites."""

from __future__ import annotations

from collections.abc import Mapping

REASONS_FOR_NO_CHECK: Mapping[str, str] = {
    "CAP-4": "the manifest of models is the matrix's, which compares it with the adapter: treelang matrix check",
    "SEC-4": "it is about observability events, which none of the subjects emits",
}
"""The reason by the id of the clause."""
