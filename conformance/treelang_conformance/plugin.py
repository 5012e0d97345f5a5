"""What pytest loads in every run of a project that has the kit installed: a marker and a summary, and nothing heavy.

The suites themselves need no plugin (`treelang_conformance.suite`).
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # pytest is there when this runs, but what it does not need is not imported either
    import pytest
    from _pytest.terminal import TerminalReporter

CLAUSE_PROPERTY = "clause"
"""The property of a test, also in JUnit files, that names the clause it proves."""

_SHOWN = {"passed": "passed", "failed": "failed", "xfailed": "tolerated", "skipped": "not applicable"}


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker that every test of a suite bears."""
    config.addinivalue_line("markers", "conformance(clause): a check of the treelang transport contract")


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Say for each suite how its checks ended, and which clauses are violated."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    violated: dict[str, dict[str, None]] = defaultdict(dict)
    for category in _SHOWN:
        for report in terminalreporter.stats.get(category, ()):
            clause = dict(getattr(report, "user_properties", ())).get(CLAUSE_PROPERTY)
            if clause is not None:
                suite = report.nodeid.rpartition("::test_conformance")[0]
                counts[suite][category] += 1
                if category == "failed":
                    violated[suite][str(clause)] = None
    for suite, found in counts.items():
        parts = [f"{found[category]} {word}" for category, word in _SHOWN.items() if found[category]]
        clauses = f"; violated: {', '.join(violated[suite])}" if violated[suite] else ""
        terminalreporter.write_line(f"conformance of {suite}: {', '.join(parts)}{clauses}")
