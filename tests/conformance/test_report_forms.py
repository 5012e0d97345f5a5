"""What a report looks like to people and to other tools."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from tests.conformance.support.reports import EVERY_OUTCOME, FAILURE, report, result
from treelang_conformance.report import CheckOutcome, Report
from treelang_conformance.reports.files import write_reports
from treelang_conformance.reports.html import to_html
from treelang_conformance.reports.junit import to_junit
from treelang_conformance.reports.markdown import to_markdown
from treelang_conformance.reports.table import results_table, unchecked_clauses
from treelang_conformance.reports.text import failure_text, verdict


def test_a_failure_teaches_clause_expectation_event_exchange_and_hint() -> None:
    assert failure_text(result("CMP-10/the-next-call-is-served[stream]", CheckOutcome.FAILED)) == "\n".join(
        (
            "CMP-10 (MUST) After any failure the same transport serves the next call.",
            "  check     CMP-10/the-next-call-is-served[stream]: The tree is the one that was asked for.",
            "  expected  the text 'a birch'",
            "  happened  the call ended normally with the text '<an oak>'",
            "  exchange  > POST /v1/chat/completions",
            "            > authorization: ***",
            "            < HTTP/1.1 200 OK",
            "            < \x00 an oak",
            "  hint      Ask for a birch.",
        )
    )


@pytest.mark.parametrize(
    ("judged", "line"),
    [
        (report(result("CMP-1/a")), "Oak on openai-chat: conformant"),
        (
            report(result("CMP-1/a"), result("CMP-11/b", CheckOutcome.FAILED)),
            "Oak on openai-chat: conformant (SHOULD clauses not kept: CMP-11)",
        ),
        (
            report(result("CMP-1/a", CheckOutcome.EXPECTED_FAILURE)),
            "Oak on openai-chat: conformant (expected failures: CMP-1)",
        ),
        (
            report(result("CMP-1/a", CheckOutcome.FAILED), result("CMP-2/b", CheckOutcome.COULD_NOT_RUN)),
            "Oak on openai-chat: not conformant: MUST clauses violated: CMP-1; could-not-run: CMP-2",
        ),
        (
            report(result("CMP-1/a"), problems=("nothing ran",)),
            "Oak on openai-chat: not conformant: nothing ran",
        ),
        (
            report(wiring=CheckOutcome.FAILED),
            "Oak on openai-chat: not judged: the wiring check failed, and nothing else can run before it passes",
        ),
    ],
)
def test_the_conclusion_is_one_line(judged: Report, line: str) -> None:
    assert verdict(judged) == line


def rows(*reports: Report) -> dict[str, list[str]]:
    """The table as words by the first word of each row."""
    console = Console(width=120, color_system=None)
    with console.capture() as captured:
        console.print(results_table(reports))
    lines = [line.split() for line in captured.get().splitlines() if line.strip()]
    return {words[0]: words[1:] for words in lines}


def test_the_table_counts_by_family_and_subject() -> None:
    table = rows(EVERY_OUTCOME, report(result("CAN-1/a"), result("CAN-1/b", CheckOutcome.NOT_APPLICABLE)))
    assert table["CMP"] == ["completion", "1", "2", "1", "3", "1.75", "-"]
    assert table["CAN"] == ["cancellation", "-", "1", "0", "1", "0", "0.50"]
    assert table["all"] == ["1", "2", "1", "3", "1.75", "1", "0", "1", "0", "0.50"]


def test_the_column_of_other_outcomes_is_there_only_where_there_are_any() -> None:
    assert rows(EVERY_OUTCOME)["clauses"] == ["passed", "failed", "n/a", "other", "seconds"]
    assert rows(report(result("CMP-1/a")))["clauses"] == ["passed", "failed", "n/a", "seconds"]


def test_a_selection_shows_its_own_families_alone_and_is_no_verdict_on_the_rest() -> None:
    selected = report(result("CMP-1/a"), result("CAN-1/a"), selection=("CMP", "CAN-1"))
    assert list(rows(selected)) == ["Oak", "openai-chat", "clauses", "CMP", "CAN", "all"]
    assert "| STR" not in to_markdown(selected)
    assert unchecked_clauses([selected]) == []
    assert verdict(selected) == "Oak on openai-chat: conformant in what was selected"


def test_junit_tells_failures_errors_and_skips_with_their_clauses() -> None:
    suites = ElementTree.fromstring(to_junit(EVERY_OUTCOME))  # noqa: S314  # made just here
    (family,) = [suite for suite in suites if suite.get("name") == "CMP completion"]
    counts = {name: family.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "7", "failures": "2", "errors": "2", "skipped": "2"}
    endings = {case.get("name"): [child.tag for child in case if child.tag != "properties"] for case in family}
    assert endings["CMP-1/shows-the-outcome"] == []
    assert endings["CMP-2/shows-the-outcome"] == ["failure"]
    clause = family.find("testcase[@name='CMP-2/shows-the-outcome']/properties/property[@name='clause']")
    assert clause is not None
    assert clause.get("value") == "CMP-2"
    problems = [failure.get("message") for failure in suites.iterfind("testsuite[@name='run']/testcase/failure")]
    assert problems == list(EVERY_OUTCOME.problems)


def test_html_is_self_contained_and_escapes_what_came_over_the_wire() -> None:
    page = to_html(EVERY_OUTCOME)
    assert "&lt;an oak&gt;" in page
    assert "<an oak>" not in page
    for outside in ("<script", "<link", "<img", "http://", "src="):
        assert outside not in page
    assert FAILURE.hint in page


def test_markdown_has_the_conclusion_the_table_and_the_violated_clauses() -> None:
    lines = to_markdown(EVERY_OUTCOME).splitlines()
    assert lines[2] == f"**{verdict(EVERY_OUTCOME)}**"
    assert "| CMP completion | 1 | 2 | 1 | 3 | 1.75 |" in lines
    assert "### CMP-2 (MUST) One call makes exactly one HTTP request." in "\n".join(lines)


def test_every_form_that_was_asked_for_is_written_and_folders_are_made(tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    paths = {form: folder / f"oak.{form}" for form in ("json", "html", "junit", "markdown")}
    assert list(write_reports(EVERY_OUTCOME, **paths)) == list(paths.values())
    assert list(write_reports(EVERY_OUTCOME)) == []
    assert {path.name for path in folder.iterdir()} == {path.name for path in paths.values()}
