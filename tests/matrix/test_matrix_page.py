"""What the page says, and that it says from which report it knows."""

from __future__ import annotations

from tests.matrix.acme_project import Project, clause
from treelang_conformance.clauses import contract_digest
from treelang_conformance.environment import kit_version
from treelang_conformance.report import CheckOutcome


def test_each_feature_shows_its_status_and_its_note(project: Project) -> None:
    page = project.page.read_text()

    assert (
        "| Feature | Acme |\n| --- | --- |\n| Completion | supported |\n| JSON mode | unsupported [1](#notes) |\n"
        in page
    )
    assert "\n1. Acme: There is none.\n" in page


def test_each_claim_shows_the_checks_that_passed_and_the_report_that_says_so(project: Project) -> None:
    page = project.page.read_text()

    assert (
        "| Newest SDK | [matrix/evidence/acme.json](../matrix/evidence/acme.json) | 2026-11-30 | acme 7.1 | 3.13.0 | "
        f"{kit_version()} | `{contract_digest()[:12]}` | 3 passed, 1 not-applicable |\n"
    ) in page
    assert "| Completion | supported | 3 checks passed |\n| JSON mode | unsupported | not claimed |\n" in page


def test_a_claim_without_proof_is_shown_as_such(project: Project) -> None:
    project.write_clause(clause("CMP-1", CheckOutcome.PASSED, CheckOutcome.FAILED))

    assert project.run("build").exit_code == 0
    assert "| Completion | supported | **not proven: CMP-1** |\n" in project.page.read_text()


def test_an_adapter_is_shown_by_its_public_name_and_links_are_relative_to_the_page(project: Project) -> None:
    page = project.page.read_text()

    assert "| Transport | `acme_adapter.AcmeTransport` |\n" in page
    assert '| Install | `pip install "treelang[acme]"` |\n' in page
    assert "| Guide | [guides/acme.md](guides/acme.md) |\n" in page


def test_each_model_profile_is_shown(project: Project) -> None:
    assert "| Model | Strict JSON Schema | Temperature |\n| --- | --- | --- |\n| `acme-large` | yes | no |\n" in (
        project.page.read_text()
    )


def test_the_page_depends_on_nothing_but_the_manifest_and_the_reports(project: Project) -> None:
    first = project.page.read_bytes()

    assert project.run("build").exit_code == 0
    assert project.page.read_bytes() == first
