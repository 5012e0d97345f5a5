"""A run as one self-contained HTML page: no script, no font and no image from anywhere else."""

from __future__ import annotations

import functools

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from treelang_conformance.clauses import families, find_clause
from treelang_conformance.report import Report
from treelang_conformance.reports.table import wanted_families
from treelang_conformance.reports.text import counts, title, verdict


def to_html(report: Report) -> str:
    """The page."""
    wanted = wanted_families([report])
    by_family = [
        (family, [one for one in report.clauses if one.family == family.id])
        for family in families()
        if family.id in wanted
    ]
    return _template().render(
        report=report,
        title=title(report),
        verdict=verdict(report),
        counts=counts(report),
        families=by_family,
        text_of=lambda identifier: find_clause(identifier).text,
    )


@functools.cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("treelang_conformance", "reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.jinja")
