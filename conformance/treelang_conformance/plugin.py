"""What pytest loads in every run of a project that has the kit installed: a marker and a summary, and nothing heavy.

The suites themselves need no plugin (`treelang_conformance.suite`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # pytest is there when this runs, but what it does not need is not imported either
    import pytest

CLAUSE_PROPERTY = "clause"
"""The property of a test, also in JUnit files, that names the clause it proves."""

OUTCOME_PROPERTY = "conformance-outcome"
"""The property of a test that tells the outcome of its check in the kit's own words."""


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker that every test of a suite bears."""
    config.addinivalue_line("markers", "conformance(clause): a check of the treelang transport contract")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say for each suite how its checks ended, and which clauses are violated."""
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    violated: dict[str, dict[str, None]] = defaultdict(dict)
    for category in ("passed", "failed", "xfailed", "skipped"):
        for report in terminalreporter.stats.get(category, ()):
            properties = dict(getattr(report, "user_properties", ()))
            if OUTCOME_PROPERTY in properties:
                suite = report.nodeid.rpartition("::test_conformance")[0]
                outcomes[suite][str(properties[OUTCOME_PROPERTY])] += 1
                if properties[OUTCOME_PROPERTY] == "failed":
                    violated[suite][str(properties[CLAUSE_PROPERTY])] = None
    for suite, found in outcomes.items():
        counts = ", ".join(f"{number} {outcome}" for outcome, number in found.items())
        clauses = f"; not kept: {', '.join(violated[suite])}" if violated[suite] else ""
        terminalreporter.write_line(f"conformance of {suite}: {counts}{clauses}")
