"""`treelang matrix check`: what it refuses, with which exit status, and in which words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.matrix.acme_project import CLAUSES, Project, clause
from treelang_conformance.report import CheckOutcome


def test_a_project_in_order_passes(project: Project) -> None:
    result = project.run("check")

    assert result.exit_code == 0
    assert (
        result.output == "The provider matrix holds: every claim is proven, every model profile is the adapter's own.\n"
    )


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        pytest.param(
            lambda text: text.replace("| Completion |", "| Complete |"), "-| Complete | supported |", id="line"
        ),
        pytest.param(lambda text: text + "One more line.\n", "-One more line.", id="longer"),
        pytest.param(lambda text: text[: text.rindex("| `acme-large`")], "+| `acme-large` | yes | no |", id="shorter"),
        pytest.param(lambda text: "", "+# Provider matrix", id="empty"),
    ],
)
def test_a_stale_page_fails_with_a_diff_and_the_mending_command(
    project: Project, change: Callable[[str], str], shown: str
) -> None:
    project.page.write_text(change(project.page.read_text()))

    result = project.run("check")

    assert result.exit_code == 1
    assert "--- docs/provider-matrix.md (found)\n+++ docs/provider-matrix.md (due)\n@@ " in result.output
    assert shown in result.output
    assert result.output.endswith("docs/provider-matrix.md is stale. Write it anew with: treelang matrix build\n")


def test_the_mending_command_mends_a_stale_page(project: Project) -> None:
    project.edit_manifest('title = "Acme"', 'title = "Acme Chat"')
    assert project.run("check").exit_code == 1

    assert project.run("build").exit_code == 0
    assert project.run("check").exit_code == 0


def test_a_missing_page_fails_with_the_mending_command(project: Project) -> None:
    project.page.unlink()

    result = project.run("check")

    assert result.exit_code == 1
    assert result.output.endswith("docs/provider-matrix.md is missing. Write it with: treelang matrix build\n")


@pytest.mark.parametrize(
    ("field", "claimed", "actual"), [("strict_json_schema", "false", "true"), ("temperature", "true", "false")]
)
def test_a_profile_that_the_capability_function_contradicts_fails(
    project: Project, field: str, claimed: str, actual: str
) -> None:
    project.edit_manifest(f"{field} = {actual}", f"{field} = {claimed}")
    project.run("build")

    result = project.run("check")

    assert result.exit_code == 1
    assert result.output == (
        f"acme: the manifest says {field} = {claimed} for acme-large, but acme_adapter:capabilities says {actual}\n"
        "Mend the profiles in matrix/providers.toml, or the adapter; then run: treelang matrix build\n"
    )


@pytest.mark.parametrize(
    ("outcomes", "reason"),
    [
        pytest.param([CheckOutcome.PASSED, CheckOutcome.FAILED], "CMP-1/check-2 is failed", id="failed"),
        pytest.param([CheckOutcome.EXPECTED_FAILURE], "CMP-1/check-1 is expected-failure", id="expected-failure"),
        pytest.param([CheckOutcome.COULD_NOT_RUN], "CMP-1/check-1 is could-not-run", id="could-not-run"),
        pytest.param([CheckOutcome.KIT_ERROR], "CMP-1/check-1 is kit-error", id="kit-error"),
        pytest.param(
            [CheckOutcome.FAILED, CheckOutcome.FAILED, CheckOutcome.KIT_ERROR],
            "CMP-1/check-1 is failed, and so on for 2 more",
            id="several",
        ),
        pytest.param([], "no check of it was run", id="unchecked"),
    ],
)
def test_a_claim_without_proof_fails(project: Project, outcomes: list[CheckOutcome], reason: str) -> None:
    project.write_clause(clause("CMP-1", *outcomes))
    project.run("build")

    result = project.run("check")

    assert result.exit_code == 1
    assert result.output == (
        "acme: the feature completion is claimed as supported, but matrix/evidence/acme.json does not prove CMP-1: "
        f"{reason}\nMend the adapter and renew the reports (make evidence), or withdraw the claim in "
        "matrix/providers.toml\n"
    )


def test_a_clause_that_the_report_does_not_know_is_no_proof(project: Project) -> None:
    project.write_report(clauses=[CLAUSES[0].model_dump(mode="json")])
    project.run("build")

    result = project.run("check")

    assert result.exit_code == 1
    assert "does not prove CMP-2: no check of it was run" in result.output


def test_a_clause_that_the_wire_has_no_use_for_does_no_harm(project: Project) -> None:
    project.write_clause(clause("CMP-1", CheckOutcome.NOT_APPLICABLE))
    project.run("build")

    assert project.run("check").exit_code == 0


def test_a_feature_of_which_nothing_applied_is_not_proven(project: Project) -> None:
    not_applicable = [clause(name, CheckOutcome.NOT_APPLICABLE) for name in ("CMP-1", "CMP-2")]
    project.write_report(clauses=[result.model_dump(mode="json") for result in not_applicable])
    project.run("build")

    result = project.run("check")

    assert result.exit_code == 1
    assert "does not prove CMP-1, CMP-2: none of their checks applied" in result.output


def test_of_a_worthless_report_only_the_worthlessness_is_told(project: Project) -> None:
    project.write_report(problems=["nothing ran"], clauses=[])
    project.run("build")

    assert "does not prove" not in project.run("check").output


def test_a_model_dependent_feature_needs_proof_too(project: Project) -> None:
    project.edit_manifest('{ status = "supported" }', '{ status = "model-dependent", note = "Ask it." }')
    project.write_clause(clause("CMP-1", CheckOutcome.FAILED))
    project.run("build")

    result = project.run("check")

    assert result.exit_code == 1
    assert "claimed as model-dependent, but matrix/evidence/acme.json does not prove CMP-1" in result.output


def test_every_evidence_set_has_to_prove_a_claim(project: Project) -> None:
    project.edit_manifest(
        '[[features]]\nid = "completion"',
        '[[evidence]]\nid = "oldest"\ntitle = "Oldest SDK"\nfolder = "older"\n\n[[features]]\nid = "completion"',
    )
    older = Project.report_in(project.root / "older")
    older.write_bytes(project.report.read_bytes())
    assert project.run("build").exit_code == 0
    assert project.run("check").exit_code == 0
    project.write_clause(clause("CMP-1", CheckOutcome.FAILED), to=older)
    project.run("build")

    result = project.run("check")

    assert result.exit_code == 1
    assert "but older/acme.json does not prove CMP-1: CMP-1/check-1 is failed" in result.output
    assert "matrix/evidence/acme.json does not prove" not in result.output


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        pytest.param(
            {"contract_digest": "0" * 64},
            "contract_digest: the report is about another text of the contract",
            id="contract",
        ),
        pytest.param({"kit_version": "0.0.1"}, "kit_version: the report is of version 0.0.1, this is ", id="kit"),
        pytest.param({"problems": ["nothing ran"]}, "problems: nothing ran", id="worthless-run"),
        pytest.param(
            {"wiring": {"id": "WIRING/it-answers", "description": "", "outcome": "failed", "seconds": 0}},
            "wiring: the check of the set-up is failed",
            id="miswired",
        ),
    ],
)
def test_evidence_of_something_else_is_none(project: Project, fields: dict[str, Any], problem: str) -> None:
    project.write_report(**fields)
    project.run("build")

    result = project.run("check")

    assert result.exit_code == 1
    assert result.output.startswith(f"matrix/evidence/acme.json: {problem}")


def test_fresh_reports_can_stand_in_for_the_committed_ones(project: Project, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    project.report.rename(fresh / "acme.json")
    project.page.unlink()

    assert project.run("check", "--evidence", str(fresh)).exit_code == 0
    assert project.run("check").exit_code == 2


# --- input that cannot be used: 2, one line with the file and the field ---


def refusal(project: Project, command: str = "check") -> str:
    """What the command says when it gives up: one line, no traceback."""
    result = project.run(command)
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.output.startswith("treelang matrix: ")
    assert result.output.count("\n") == 1
    return result.output.removeprefix("treelang matrix: ").rstrip("\n")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        pytest.param("schema_version = 1", "schema_version = 2", "schema_version: ", id="another-version"),
        pytest.param("schema_version = 1", "schema_version = [", "is not TOML: ", id="not-toml"),
        pytest.param('wire = "openai-chat"', "", "adapters.0.wire: Field required", id="missing-field"),
        pytest.param(
            'extra = "acme"',
            'extra = "acme"\nextras = 1',
            "adapters.0.extras: Extra inputs are not",
            id="misspelt-field",
        ),
        pytest.param('"supported"', '"perhaps"', "adapters.0.features.completion.status: Input should be", id="status"),
        pytest.param(
            ', note = "There is none."',
            "",
            "adapters.0.features.json-mode: a feature that is unsupported needs a note that says why",
            id="no-note",
        ),
        pytest.param(
            "json-mode = {",
            "telepathy = {",
            "(top level): adapter 'acme' has a claim about the unknown feature 'telepathy'",
            id="unknown-feature",
        ),
        pytest.param(
            "json-mode = { status",
            "# json-mode = { status",
            "(top level): adapter 'acme' says nothing about",
            id="silence",
        ),
        pytest.param('id = "json-mode"', 'id = "completion"', "(top level): features: the id 'completion'", id="twice"),
        pytest.param('"CMP-1", "CMP-2"', '"CMP1"', "features.0.clauses.0: String should match", id="no-clause-id"),
        pytest.param(
            '"CMP-1", "CMP-2"',
            '"CMP-999"',
            "features.0.clauses: the contract has no clause CMP-999",
            id="no-such-clause",
        ),
        pytest.param('"matrix/evidence"', '"../elsewhere"', "evidence.0.folder: must be a path inside", id="outside"),
        pytest.param('"https://acme', '"http://acme', "adapters.0.documentation: String should match", id="not-https"),
        pytest.param(
            '"acme_adapter:capabilities"',
            '"acme_adapter:abilities"',
            "adapters.0.capabilities: the module 'acme_adapter' has no 'abilities'",
            id="no-such-function",
        ),
        pytest.param(
            '"acme_adapter:AcmeTransport"',
            '"acme_adaptor:AcmeTransport"',
            "adapters.0.transport: cannot import 'acme_adaptor' of 'acme_adaptor:AcmeTransport': No module",
            id="no-such-module",
        ),
        pytest.param(
            '"acme_adapter:capabilities"',
            '"acme_adapter:AcmeTransport.capabilities"',
            "adapters.0.capabilities: String should match",
            id="no-import-path",
        ),
    ],
)
def test_a_broken_manifest_is_refused_with_its_field(project: Project, old: str, new: str, complaint: str) -> None:
    project.edit_manifest(old, new)

    assert refusal(project).startswith(f"{project.manifest}: {complaint}")


def test_a_missing_manifest_is_refused_with_the_mend(project: Project) -> None:
    project.manifest.unlink()

    assert refusal(project) == (
        f"{project.manifest}: cannot be read: No such file or directory; run it in the project's root, or name that "
        "with --root"
    )


@pytest.mark.parametrize("command", ["check", "build"])
def test_a_missing_report_is_refused_with_the_mend(project: Project, command: str) -> None:
    project.report.unlink()

    assert refusal(project, command) == (
        f"{project.report}: the report about the adapter 'acme' is missing; make it with: make evidence"
    )


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        pytest.param({"schema_version": "2"}, "schema_version: ", id="another-version"),
        pytest.param({"schema_version": None}, "schema_version: ", id="no-version"),
        pytest.param({"kit_version": 3}, "kit_version: ", id="wrong-type"),
        pytest.param({"clauses": [{"id": "CMP-1"}]}, "clauses.0.family: ", id="missing-field"),
        pytest.param(
            {"wire": "acme"}, "wire: the report is about 'acme', but the manifest says 'openai-chat'", id="another-wire"
        ),
        pytest.param(
            {"subject": {"name": "other", "target": "other:make"}},
            "subject.target: the report is about 'other:make', but the manifest says 'acme_adapter:make'",
            id="another-adapter",
        ),
    ],
)
@pytest.mark.parametrize("command", ["check", "build"])
def test_an_unusable_report_is_refused_with_its_field(
    project: Project, fields: dict[str, Any], complaint: str, command: str
) -> None:
    project.write_report(**fields)

    assert refusal(project, command).startswith(f"{project.report}: {complaint}")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe"])
def test_a_report_that_is_no_json_object_is_refused(project: Project, content: bytes) -> None:
    project.report.write_bytes(content)

    assert refusal(project).startswith(f"{project.report}: ")


def test_a_capability_function_that_answers_with_something_else_is_refused(project: Project) -> None:
    (project.root / "acme_adapter.py").write_text("AcmeTransport = object\ndef capabilities(model): return {}\n")

    assert refusal(project) == (
        f"{project.manifest}: adapters.0.capabilities: 'acme_adapter:capabilities' did not return ModelCapabilities"
    )


def test_a_page_that_cannot_be_written_is_refused(project: Project) -> None:
    project.page.unlink()
    project.page.mkdir()

    assert refusal(project, "build").startswith(f"{project.page}: cannot be written: ")
