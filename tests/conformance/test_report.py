"""The published form of a report: what is written is what is read, and what cannot be read says why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hatchling.builders.wheel import WheelBuilder

from tests.conformance.support.reports import EVERY_OUTCOME, report, result
from treelang_conformance.report import (
    CheckOutcome,
    ClauseOutcome,
    ReportError,
    clause_outcome,
    load_report,
    schema_text,
)

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "conformance" / "treelang_conformance" / "report.schema.json"


def saved(folder: Path, **changes: Any) -> Path:
    """A report file with some of its top fields exchanged."""
    path = folder / "oak.json"
    path.write_text(json.dumps(json.loads(EVERY_OUTCOME.to_json()) | changes), encoding="utf-8")
    return path


def test_a_report_that_was_written_is_read_as_it_was(tmp_path: Path) -> None:
    assert load_report(saved(tmp_path)) == EVERY_OUTCOME


def test_the_published_schema_is_fresh_and_takes_every_outcome() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == schema_text(), (
        f"renew it with: treelang conformance schema > {SCHEMA.relative_to(ROOT)}"
    )
    jsonschema.validate(json.loads(EVERY_OUTCOME.to_json()), json.loads(schema_text()))


def test_the_wheel_holds_the_schema_and_the_contract() -> None:
    packed = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    assert packed >= {
        "treelang_conformance/report.schema.json",
        "treelang_conformance/contract/clauses.toml",
        "treelang_conformance/contract/introduction.md",
        "treelang_conformance/reports/report.html.jinja",
    }


def test_another_schema_version_says_how_to_mend_it(tmp_path: Path) -> None:
    path = saved(tmp_path, schema_version="0")
    with pytest.raises(
        ReportError, match=r"oak\.json: schema_version: is '0', this kit reads '1'; make the report again"
    ):
        load_report(path)


def test_a_wrong_field_is_named(tmp_path: Path) -> None:
    path = saved(tmp_path, subject={"name": 7})
    with pytest.raises(ReportError, match=r"oak\.json: subject\.name: Input should be a valid string"):
        load_report(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no JSON"),
        (b"\xff\xfe", "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b"[]", "schema_version: is None"),
    ],
)
def test_what_is_no_report_says_so(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "oak.json"
    path.write_bytes(content)
    with pytest.raises(ReportError, match=message):
        load_report(path)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"oak\.json: cannot be read: No such file or directory"):
        load_report(tmp_path / "oak.json")


@pytest.mark.parametrize(
    ("outcomes", "gravest"),
    [
        ((), ClauseOutcome.UNCHECKED),
        ((CheckOutcome.NOT_APPLICABLE,), ClauseOutcome.NOT_APPLICABLE),
        ((CheckOutcome.NOT_APPLICABLE, CheckOutcome.PASSED), ClauseOutcome.PASSED),
        ((CheckOutcome.PASSED, CheckOutcome.EXPECTED_FAILURE), ClauseOutcome.EXPECTED_FAILURE),
        ((CheckOutcome.EXPECTED_FAILURE, CheckOutcome.COULD_NOT_RUN), ClauseOutcome.COULD_NOT_RUN),
        ((CheckOutcome.COULD_NOT_RUN, CheckOutcome.FAILED), ClauseOutcome.FAILED),
        ((CheckOutcome.FAILED, CheckOutcome.KIT_ERROR), ClauseOutcome.KIT_ERROR),
    ],
)
def test_a_clause_stands_as_its_gravest_check(outcomes: tuple[CheckOutcome, ...], gravest: ClauseOutcome) -> None:
    assert clause_outcome(result("CMP-1/a-check", outcome) for outcome in outcomes) is gravest


@pytest.mark.parametrize(
    ("identifier", "outcome", "conformant"),
    [
        ("CMP-1/of-a-must", CheckOutcome.PASSED, True),
        ("CMP-1/of-a-must", CheckOutcome.EXPECTED_FAILURE, True),
        ("CMP-1/of-a-must", CheckOutcome.FAILED, False),
        ("CMP-1/of-a-must", CheckOutcome.COULD_NOT_RUN, False),
        ("CMP-1/of-a-must", CheckOutcome.KIT_ERROR, False),
        ("CMP-11/of-a-should", CheckOutcome.FAILED, True),
        ("CMP-11/of-a-should", CheckOutcome.COULD_NOT_RUN, True),
        ("CMP-11/of-a-should", CheckOutcome.KIT_ERROR, False),
    ],
)
def test_what_speaks_against_a_subject(identifier: str, outcome: CheckOutcome, conformant: bool) -> None:
    judged = report(result("CMP-2/another"), result(identifier, outcome))
    assert (judged.conformant, judged.exit_code) == (conformant, 0 if conformant else 1)


def test_a_problem_of_the_run_or_a_failed_wiring_speak_against_it() -> None:
    assert not report(result("CMP-1/a-check"), problems=("nothing ran",)).conformant
    assert not report(result("CMP-1/a-check"), wiring=CheckOutcome.FAILED).conformant
