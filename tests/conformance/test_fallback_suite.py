"""The suite `fallback` from outside: by the command line, under pytest, and on transports that are not treelang's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.support import plain
from tests.conformance.test_cli import PLAIN, invoked
from tests.conformance.test_suite import adopters_run
from treelang_conformance.registry import SuiteName
from treelang_conformance.report import ClauseOutcome, load_report
from treelang_conformance.runner import SuiteError, run
from treelang_conformance.subject import NegotiatorSubject, Subject

FALLBACK_CLAUSES = {"FBK-5", "FBK-6", "FBK-7", "FBK-8", "FBK-9", "FBK-10", "FBK-11", "FBK-13", "FBK-14"}


def test_a_transport_of_nobody_we_know_passes(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    ended = invoked("run", PLAIN, "--suite", "fallback", "--wire", "openai-chat", "--json", file)
    assert ended.exit_code == 0, ended.output
    assert "PlainChatTransport on openai-chat, suite fallback: conformant" in ended.output
    report = load_report(file)
    assert (report.suite, report.wire) == (SuiteName.FALLBACK, "openai-chat")
    assert {clause.id for clause in report.clauses if clause.checks} == FALLBACK_CLAUSES
    assert {clause.id for clause in report.clauses if clause.outcome is ClauseOutcome.PASSED} == FALLBACK_CLAUSES


def test_a_failure_names_the_cell_of_the_table() -> None:
    class Impatient(plain.PlainChatTransport):
        async def complete(self, request: object) -> str:
            try:
                return await super().complete(request)  # type: ignore[arg-type]
            except Exception:
                return await super().complete({**request, "response_format": {"type": "json_object"}})  # type: ignore[dict-item]

    subject = Subject(lambda endpoint: Impatient(endpoint.url, endpoint.api_key, endpoint.timeout))
    report = run(subject, wire="openai-chat", suite="fallback", select=["FBK-8"])
    failures = {check.id: check.failure for check in report.checks() if check.failure is not None}
    found = failures["FBK-8/no-other-failure-leads-to-a-second-request[complete-auto-rate-limited]"]
    assert found.expected == "1 request (strict) on the wire"
    assert found.happened == (
        "with status 429, there came 2 requests (strict, then json), and the evaluation gave a program"
    )
    assert found.exchange.count("> POST /v1/chat/completions") == 2


def test_the_suite_under_pytest(tmp_path: Path) -> None:
    code, output = adopters_run(
        tmp_path,
        """
        from treelang_conformance import FallbackSuite

        class TestAcme(FallbackSuite, wire="openai-chat", select=["FBK-5", "FBK-14"]):
            def make_transport(self, endpoint):
                return plain.make(endpoint)
        """,
    )
    assert code == 0, output
    assert "TestAcme::test_conformance[FBK-5/auto-asks-once-more-after-a-rejection[complete-auto-rejected]]" in output


@pytest.mark.parametrize(
    ("arguments", "mend"),
    [
        (("--suite", "fallback"), "name the protocol that the transport speaks: --wire"),
        (("--suite", "negotiator", "--wire", "openai-chat"), "leave --wire out"),
        (("--suite", "fallback", "--wire", "openai-chat", "--select", "CMP-1"), "another suite: --suite transport"),
        (("--wire", "openai-chat", "--select", "FBK-5"), "FBK-5 is checked by another suite: --suite fallback"),
    ],
)
def test_a_suite_that_does_not_go_with_the_rest_ends_with_two_and_the_mend(
    arguments: tuple[str, ...], mend: str
) -> None:
    ended = invoked("run", PLAIN, *arguments)
    assert (ended.exit_code, mend in ended.output) == (2, True), ended.output


def test_the_decisions_are_shown() -> None:
    ended = invoked("decisions")
    assert (ended.exit_code, "rejected-in-mid-stream" in ended.output) == (0, True)


def test_a_suite_is_run_against_its_own_kind_of_subject() -> None:
    with pytest.raises(SuiteError, match=r"unknown suite 'fallbak'; did you mean fallback\?"):
        run(Subject(plain.make), wire="openai-chat", suite="fallbak")
    with pytest.raises(SuiteError, match="the suite negotiator is for a NegotiatorSubject, and this is a Subject"):
        run(Subject(plain.make), suite="negotiator")
    with pytest.raises(SuiteError, match="needs the protocol"):
        run(Subject(plain.make), suite="fallback")
    with pytest.raises(SuiteError, match="leave the wire out"):
        run(NegotiatorSubject(object), wire="openai-chat")  # type: ignore[arg-type]
