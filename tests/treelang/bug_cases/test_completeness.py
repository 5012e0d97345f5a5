"""Every reported bug has its place here, and only one."""

from __future__ import annotations

import importlib
from collections import Counter
from pathlib import Path

from tests.treelang.bug_cases.case import Case, Report

# The collection's numbers have gaps: reports that turned out to be the same, or of no use to a transport.
NUMBERS = (
    *(1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 14, 15, 17, 19),
    *(22, 23, 24, 26, 30, 31, 32, 33, 34, 36, 37, 38),
    *(41, 42, 43, 44, 45, 46, 47, 48, 49, 50),
    *(51, 52, 53, 55, 56, 57, 58, 60, 61, 64),
    *(71, 72, 73),
    *(75, 76, 77, 80, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91),
)


def reports() -> list[Case | Report]:
    found: list[Case | Report] = []
    for path in Path(__file__).parent.glob("test_*.py"):
        names = vars(importlib.import_module(f"{__package__}.{path.stem}"))
        found += names.get("CASES", ())
        found += [report for value in names.values() if isinstance(report := getattr(value, "report", None), Report)]
    return found


def test_every_report_stands_exactly_once() -> None:
    assert Counter(report.id for report in reports()) == Counter(f"CASE-{number:03}" for number in NUMBERS)


def test_every_report_says_where_it_was_made() -> None:
    assert [report.id for report in reports() if "#" not in report.source] == []
