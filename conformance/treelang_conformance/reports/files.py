"""Writing a report to the files that were asked for, each in its form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from treelang_conformance.report import Report


def write_reports(
    report: Report,
    *,
    json: Path | None = None,
    html: Path | None = None,
    junit: Path | None = None,
    markdown: Path | None = None,
) -> Iterator[Path]:
    """Write the report in every form for which a path is given, and yield each path; folders are made."""
    from treelang_conformance.reports.html import to_html
    from treelang_conformance.reports.junit import to_junit
    from treelang_conformance.reports.markdown import to_markdown

    forms: list[tuple[Path | None, Callable[[Report], str]]] = [
        (json, Report.to_json),
        (html, to_html),
        (junit, to_junit),
        (markdown, to_markdown),
    ]
    for path, render in forms:
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(render(report), encoding="utf-8")
            yield path
