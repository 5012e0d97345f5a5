"""The suite for tool providers: honest ones pass, in whatever way they are made, and a run says what it should."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.conformance.mutants.tool_providers import InjectsDefaults, QuotesRefusedValues
from tests.conformance.support.tools import MappingToolProvider, PlainToolProvider, opened
from tests.conformance.test_suite import adopters_run
from treelang.cli.application import build
from treelang_conformance import CannotHost, HostedTool, ToolProviderSubject, run, subjects
from treelang_conformance.report import CheckOutcome

HONEST: dict[str, Callable[[Sequence[HostedTool]], Any]] = {
    "functions": subjects.functions,
    "an MCP server": subjects.mcp,
    "written by hand": PlainToolProvider,
    "lists mappings": MappingToolProvider,
    "a context manager": opened,
}


@pytest.mark.parametrize("make", HONEST.values(), ids=HONEST.keys())
def test_an_honest_provider_is_conformant(make: Callable[[Sequence[HostedTool]], Any]) -> None:
    report = run(ToolProviderSubject(make))
    assert report.exit_code == 0, [check for check in report.checks() if check.outcome is CheckOutcome.FAILED]
    skipped = [check for check in report.checks() if check.outcome is CheckOutcome.NOT_APPLICABLE]
    assert all(check.id.startswith("TOL-2/") and check.reason for check in skipped)
    passed = {check.id.partition("/")[0] for check in report.checks() if check.outcome is CheckOutcome.PASSED}
    assert passed == {f"TOL-{number}" for number in range(1, 8)}


def test_what_a_factory_cannot_host_is_not_applicable() -> None:
    def only_whole_schemas(tools: Sequence[HostedTool]) -> PlainToolProvider:
        if any(tool.input_schema is None for tool in tools):
            raise CannotHost("this provider has whole schemas alone")
        return PlainToolProvider(tools)

    report = run(ToolProviderSubject(only_whole_schemas), select=["TOL-3", "TOL-6"])
    outcomes = {check.id.partition("/")[0]: (check.outcome, check.reason) for check in report.checks()}
    assert report.exit_code == 0
    assert outcomes["TOL-3"] == (CheckOutcome.NOT_APPLICABLE, "this provider has whole schemas alone")
    assert outcomes["TOL-6"][0] is CheckOutcome.PASSED


def test_a_fault_is_told_with_a_hint_and_another_exit_code() -> None:
    report = run(ToolProviderSubject(InjectsDefaults), select=["TOL-6"])
    assert report.exit_code == 1
    failure = next(check.failure for check in report.checks() if check.failure)
    assert failure.expected == "two calls with {'tree': 'redwood'}"
    assert "'height': 115" in failure.happened
    assert failure.hint.startswith("A default is an annotation")


def test_no_planted_value_is_shown_in_a_failure() -> None:
    report = run(ToolProviderSubject(QuotesRefusedValues), select=["TOL-5"])
    assert report.exit_code == 1
    assert "canary" not in report.model_dump_json()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("treelang_conformance.subjects:functions", "--select", "TOL-6"), 0, "conformant"),
        (("tests.conformance.mutants.tool_providers:InjectsDefaults", "--select", "TOL-6"), 1, "violated: TOL-6"),
        (("treelang_conformance.subjects:functions", "--wire", "openai-chat"), 2, "leave --wire out"),
    ],
)
def test_the_command_line_runs_the_suite(arguments: tuple[str, ...], code: int, said: str) -> None:
    ended = CliRunner().invoke(build(), ["conformance", "run", "--suite", "tools", *arguments])
    assert ended.exit_code == code, ended.output
    assert said in ended.output


def test_the_pytest_class_runs_the_suite(tmp_path: Path) -> None:
    code, output = adopters_run(
        tmp_path,
        """
        from tests.conformance.support.tools import PlainToolProvider
        from treelang_conformance import ToolProviderSuite

        class TestAcme(ToolProviderSuite, select=["TOL-1", "TOL-4"]):
            def make_provider(self, tools):
                return PlainToolProvider(tools)
        """,
    )
    assert code == 0, output
    assert "TestAcme::test_conformance[TOL-4/" in output
