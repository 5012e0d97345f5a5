"""A run as a short Markdown summary, for instance for a job summary or a pull request."""

from __future__ import annotations

from collections import Counter

from treelang_conformance.clauses import families
from treelang_conformance.report import CheckOutcome, CheckResult, Report
from treelang_conformance.reports.table import unchecked_clauses, wanted_families
from treelang_conformance.reports.text import clause_title, short_failure_text, title, verdict


def to_markdown(report: Report) -> str:
    """The conclusion, a table by clause family, and the violated clauses."""
    lines = [
        f"## {title(report)}",
        "",
        f"**{verdict(report)}**",
        "",
        "| clauses | passed | failed | not applicable | other | seconds |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    shown = (CheckOutcome.PASSED, CheckOutcome.FAILED, CheckOutcome.NOT_APPLICABLE)
    wanted = wanted_families([report])
    for family in families():
        if family.id not in wanted:
            continue
        checks = [check for clause in report.clauses if clause.family == family.id for check in clause.checks]
        found = Counter(check.outcome for check in checks)
        cells = [str(found[outcome]) for outcome in shown]
        others = len(checks) - sum(found[outcome] for outcome in shown)
        seconds = f"{sum(check.seconds for check in checks):.2f}"
        lines.append(f"| {family.id} {family.title} | {' | '.join(cells)} | {others} | {seconds} |")
    for clause in report.clauses:
        failures = [check for check in clause.checks if check.failure is not None]
        if failures:
            lines += ["", f"### {clause_title(clause.id)}", ""]
            lines += [f"- {_expected(check)}{_escaped(short_failure_text(check))}" for check in failures]
    unchecked = unchecked_clauses([report])
    if unchecked:
        lines += ["", f"Unchecked: {', '.join(unchecked)}"]
    return "\n".join(lines) + "\n"


def _expected(check: CheckResult) -> str:
    """What is to be known of an expected failure before the failure itself."""
    if check.outcome is not CheckOutcome.EXPECTED_FAILURE:
        return ""
    return f"*{check.outcome}* ({_escaped(check.reason)}, {check.issue}): "


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace("|", "\\|")
