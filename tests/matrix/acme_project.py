"""A small project with one adapter and one report, and the commands run on it as a user would run them."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from treelang_conformance.clauses import Level, contract_digest
from treelang_conformance.environment import kit_version
from treelang_conformance.report import (
    CheckOutcome,
    CheckResult,
    ClauseResult,
    Environment,
    Report,
    SubjectDetails,
    clause_outcome,
)
from treelang_matrix.cli import app

MANIFEST = """
schema_version = 1

[[evidence]]
id = "newest"
title = "Newest SDK"
folder = "matrix/evidence"

[[features]]
id = "completion"
title = "Completion"
meaning = "The whole text."
clauses = ["CMP-1", "CMP-2"]

[[features]]
id = "json-mode"
title = "JSON mode"
meaning = "JSON without a schema."
clauses = ["CMP-5"]

[[adapters]]
id = "acme"
title = "Acme"
transport = "acme_adapter:AcmeTransport"
capabilities = "acme_adapter:capabilities"
subject = "acme_adapter:make"
wire = "openai-chat"
extra = "acme"
guide = "docs/guides/acme.md"
documentation = "https://acme.example/docs"

[adapters.features]
completion = { status = "supported" }
json-mode = { status = "unsupported", note = "There is none." }

[adapters.models]
"acme-large" = { strict_json_schema = true, temperature = false }
"""

ADAPTER = """
from treelang import ModelCapabilities

class AcmeTransport: ...

def capabilities(model):
    return ModelCapabilities(strict_json_schema=model == "acme-large")
"""


def clause(identifier: str, *outcomes: CheckOutcome) -> ClauseResult:
    """A clause whose checks, numbered from 1, ended like this."""
    checks = tuple(
        CheckResult(id=f"{identifier}/check-{number}", description="Proves it.", outcome=outcome, seconds=0.1)
        for number, outcome in enumerate(outcomes, start=1)
    )
    family = identifier.partition("-")[0]
    outcome = clause_outcome(checks)
    return ClauseResult(id=identifier, family=family, level=Level.MUST, outcome=outcome, checks=checks)


CLAUSES = (
    clause("CMP-1", CheckOutcome.PASSED, CheckOutcome.PASSED),
    clause("CMP-2", CheckOutcome.PASSED, CheckOutcome.NOT_APPLICABLE),
    clause("CMP-5"),
)

REPORT = Report(
    kit_version=kit_version(),
    contract_digest=contract_digest(),
    subject=SubjectDetails(name="acme", target="acme_adapter:make"),
    wire="openai-chat",
    environment=Environment(python="3.13.0", packages={"acme": "7.1"}),
    started=datetime(2026, 11, 30, 12, 0, tzinfo=UTC),
    seconds=1.5,
    clauses=CLAUSES,
)


@dataclasses.dataclass(frozen=True)
class Project:
    """A project folder in which everything is in order until a test changes something."""

    root: Path

    @classmethod
    def create(cls, root: Path) -> Project:
        project = cls(root)
        project.write_report()
        project.manifest.write_text(MANIFEST)
        (root / "acme_adapter.py").write_text(ADAPTER)
        return project

    @property
    def manifest(self) -> Path:
        return self.root / "matrix" / "providers.toml"

    @property
    def report(self) -> Path:
        return self.report_in(self.root / "matrix" / "evidence")

    @property
    def page(self) -> Path:
        return self.root / "docs" / "provider-matrix.md"

    @staticmethod
    def report_in(folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        return folder / "acme.json"

    def edit_manifest(self, old: str, new: str) -> None:
        text = self.manifest.read_text()
        assert text.count(old) == 1
        self.manifest.write_text(text.replace(old, new))

    def write_report(self, *, to: Path | None = None, **fields: Any) -> None:
        """Write the report with other values, valid or not, in these fields of its JSON."""
        (to or self.report).write_text(json.dumps(REPORT.model_dump(mode="json") | fields))

    def write_clause(self, changed: ClauseResult, *, to: Path | None = None) -> None:
        """Write a report in which one clause stands differently."""
        clauses = [changed if clause.id == changed.id else clause for clause in CLAUSES]
        self.write_report(to=to, clauses=[clause.model_dump(mode="json") for clause in clauses])

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(app, [*arguments, "--root", str(self.root)])
