"""The report of a run: frozen models whose JSON form is published as `report.schema.json`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from treelang_conformance.clauses import Level
from treelang_conformance.registry import SuiteName

SCHEMA_VERSION: Literal["1"] = "1"
"""Raised when a change makes reports unreadable for those who read this version."""


class ReportError(Exception):
    """A file is no readable report; the message names the file, the field and the mend."""


class CheckOutcome(StrEnum):
    """How one check ended."""

    PASSED = "passed"
    FAILED = "failed"
    EXPECTED_FAILURE = "expected-failure"
    NOT_APPLICABLE = "not-applicable"
    COULD_NOT_RUN = "could-not-run"
    KIT_ERROR = "kit-error"


class ClauseOutcome(StrEnum):
    """How a clause stands: the gravest outcome of its checks, or that it has none."""

    PASSED = "passed"
    FAILED = "failed"
    EXPECTED_FAILURE = "expected-failure"
    NOT_APPLICABLE = "not-applicable"
    COULD_NOT_RUN = "could-not-run"
    KIT_ERROR = "kit-error"
    UNCHECKED = "unchecked"
    NOT_SELECTED = "not-selected"


_GRAVEST_FIRST = (
    CheckOutcome.KIT_ERROR,
    CheckOutcome.FAILED,
    CheckOutcome.COULD_NOT_RUN,
    CheckOutcome.EXPECTED_FAILURE,
    CheckOutcome.PASSED,
    CheckOutcome.NOT_APPLICABLE,
)


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def _encodable(text: object) -> object:
    """A text with its lone surrogates escaped: a subject may show any, and no file takes them."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8") if isinstance(text, str) else text


FreeText: TypeAlias = Annotated[str, BeforeValidator(_encodable)]


class FailureDetails(_Model):
    """What there is to learn from a failure."""

    expected: FreeText = Field(description="What the clause asks for in this situation.")
    happened: FreeText = Field(description="What the subject did instead.")
    exchange: FreeText = Field(default="", description="The exchange on the wire, credentials masked.")
    hint: FreeText = Field(default="", description="The usual cause.")


class CheckResult(_Model):
    """How one check ended."""

    id: str = Field(description="The lasting id, for instance ERR-8/retry-after-is-read[stream-http-date].")
    description: str = Field(description="What the check proves.")
    outcome: CheckOutcome
    seconds: float = Field(ge=0)
    reason: FreeText = Field(default="", description="Why it was expected to fail, did not apply or could not run.")
    issue: str = Field(default="", description="Where an expected failure is tracked.")
    failure: FailureDetails | None = Field(default=None, description="Present for failed and expected-failure.")


class ClauseResult(_Model):
    """How one clause of the contract stands."""

    id: str
    family: str
    level: Level
    outcome: ClauseOutcome
    checks: tuple[CheckResult, ...] = ()


class SubjectDetails(_Model):
    """What was under test."""

    name: str
    target: str = Field(default="", description="Where its factory is found, as module:attribute.")


class Environment(_Model):
    """What it ran with."""

    python: str
    packages: dict[str, str] = Field(description="Versions of the installed provider SDKs and HTTP libraries.")


class Report(_Model):
    """One run of a suite of the kit against one subject."""

    schema_version: Literal["1"] = SCHEMA_VERSION
    kit_version: str
    contract_digest: str = Field(description="SHA-256 of the contract's data that the kit checked against.")
    suite: SuiteName = Field(default=SuiteName.TRANSPORT, description="Which of the kit's suites was run.")
    subject: SubjectDetails
    wire: str = Field(description="The protocol that the transport speaks; empty for subjects that speak none.")
    environment: Environment
    started: datetime = Field(description="When the run began, in UTC.")
    seconds: float = Field(ge=0)
    selection: tuple[str, ...] | None = Field(default=None, description="What was selected; null for everything.")
    wiring: CheckResult | None = Field(default=None, description="The check of the set-up itself.")
    clauses: tuple[ClauseResult, ...] = Field(description="Every clause of the contract, also those without a check.")
    problems: tuple[str, ...] = Field(
        default=(), description="What makes the run worthless or out of date, besides failed checks."
    )

    def checks(self) -> Iterator[CheckResult]:
        """All results of clauses' checks, in the contract's order; the wiring check is not among them."""
        return (check for clause in self.clauses for check in clause.checks)

    def violated(self, level: Level) -> tuple[ClauseResult, ...]:
        """The clauses of a level that failed."""
        return tuple(
            clause for clause in self.clauses if clause.level is level and clause.outcome is ClauseOutcome.FAILED
        )

    @property
    def conformant(self) -> bool:
        """Whether something ran, and nothing of it speaks against the subject: no MUST failed or could not run."""
        if self.problems or (self.wiring is not None and self.wiring.outcome is not CheckOutcome.PASSED):
            return False
        grave = {ClauseOutcome.FAILED, ClauseOutcome.COULD_NOT_RUN}
        return not any(
            clause.outcome is ClauseOutcome.KIT_ERROR or (clause.level is Level.MUST and clause.outcome in grave)
            for clause in self.clauses
        )

    @property
    def exit_code(self) -> Literal[0, 1]:
        """0 for a conformant subject, else 1."""
        return 0 if self.conformant else 1

    def to_json(self) -> str:
        """The published JSON form."""
        return self.model_dump_json(indent=2) + "\n"


def clause_outcome(checks: Iterable[CheckResult]) -> ClauseOutcome:
    """The gravest outcome among a clause's checks."""
    found = {check.outcome for check in checks}
    return next((ClauseOutcome(one.value) for one in _GRAVEST_FIRST if one in found), ClauseOutcome.UNCHECKED)


def load_report(path: Path) -> Report:
    """Read a report.

    Raises:
        ReportError: The file cannot be read, is no JSON, is of another schema version, or a field is wrong.
    """
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise ReportError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{path}: is no JSON: {error}") from None
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version != SCHEMA_VERSION:
        raise ReportError(
            f"{path}: schema_version: is {version!r}, this kit reads {SCHEMA_VERSION!r};"
            " make the report again with this kit (treelang conformance run ... --json FILE)"
        )
    try:
        return Report.model_validate_json(json.dumps(data))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise ReportError(f"{path}: {field}: {first['msg']}") from None


def schema_text() -> str:
    """The JSON Schema of a report, as published in `report.schema.json` beside this module."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"} | Report.model_json_schema(
        mode="serialization"
    )
    return json.dumps(schema, indent=2) + "\n"
