"""A run as JUnit XML: a suite a clause family, a case a check, the clause id as a property of each case."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from treelang_conformance.clauses import families
from treelang_conformance.report import CheckOutcome, CheckResult, ClauseResult, Report
from treelang_conformance.reports.text import failure_text, short_failure_text, title

_FAILURES = {CheckOutcome.FAILED}
_ERRORS = {CheckOutcome.COULD_NOT_RUN, CheckOutcome.KIT_ERROR}
_SKIPPED = {CheckOutcome.NOT_APPLICABLE, CheckOutcome.EXPECTED_FAILURE}

# XML 1.0 has no form at all for these, not even an escaped one, and a wire may carry any of them.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_junit(report: Report) -> str:
    """The XML text."""
    root = ElementTree.Element("testsuites", name=title(report))
    if report.wiring is not None:
        suite = _suite(root, "wiring", [report.wiring])
        _case(suite, report, "WIRING", report.wiring)
    for family in families():
        of_family = [clause for clause in report.clauses if clause.family == family.id and clause.checks]
        if of_family:
            _family_suite(root, report, f"{family.id} {family.title}", of_family)
    if report.problems:
        suite = ElementTree.SubElement(
            root, "testsuite", name="run", tests=f"{len(report.problems)}", failures=f"{len(report.problems)}"
        )
        for problem in report.problems:
            case = ElementTree.SubElement(suite, "testcase", classname=report.subject.name, name="problem")
            ElementTree.SubElement(case, "failure", message=_clean(problem))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _family_suite(root: ElementTree.Element, report: Report, name: str, found: Sequence[ClauseResult]) -> None:
    suite = _suite(root, name, [check for clause in found for check in clause.checks])
    for clause in found:
        for check in clause.checks:
            _case(suite, report, clause.id, check, level=clause.level)


def _suite(root: ElementTree.Element, name: str, checks: Sequence[CheckResult]) -> ElementTree.Element:
    return ElementTree.SubElement(
        root,
        "testsuite",
        name=name,
        tests=f"{len(checks)}",
        failures=f"{sum(check.outcome in _FAILURES for check in checks)}",
        errors=f"{sum(check.outcome in _ERRORS for check in checks)}",
        skipped=f"{sum(check.outcome in _SKIPPED for check in checks)}",
        time=f"{sum(check.seconds for check in checks):.4f}",
    )


def _case(
    suite: ElementTree.Element, report: Report, clause: str, check: CheckResult, *, level: str | None = None
) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=f"{report.subject.name}.{report.wire or report.suite}",
        name=check.id,
        time=f"{check.seconds:.4f}",
    )
    properties = ElementTree.SubElement(case, "properties")
    for name, value in (("clause", clause), ("level", level)):
        if value is not None:
            ElementTree.SubElement(properties, "property", name=name, value=value)
    if check.outcome in _SKIPPED:
        issue = f" ({check.issue})" if check.issue else ""
        ElementTree.SubElement(case, "skipped", message=_clean(f"{check.outcome}: {check.reason}{issue}"))
    elif check.outcome is not CheckOutcome.PASSED:
        tag = "failure" if check.outcome in _FAILURES else "error"
        ending = ElementTree.SubElement(case, tag, message=_clean(short_failure_text(check)))
        ending.text = _clean(failure_text(check))


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
