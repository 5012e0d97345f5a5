"""The suite for negotiators: honest ones pass, whatever they remember and however they are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.test_cli import invoked
from tests.conformance.test_suite import adopters_run
from treelang import (
    DefaultModelCapabilityNegotiator,
    ModelCapabilities,
    StructuredOutputSelection,
    StructuredOutputUnsupportedError,
)
from treelang_conformance import NegotiatorSubject, run
from treelang_conformance.registry import SuiteName
from treelang_conformance.report import CheckOutcome

JSON_MODE = StructuredOutputSelection({"type": "json_object"}, "compatibility")


class ToyNegotiator:
    """Written by hand: it knows one schema, and remembers nothing."""

    schema: dict[str, Any] = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}  # noqa: RUF012

    def capabilities(self, transport: Any, model: str) -> ModelCapabilities:
        if not hasattr(transport, "capabilities"):
            return ModelCapabilities()
        declared: ModelCapabilities = transport.capabilities(model)
        return declared

    def structured_output(
        self,
        capabilities: ModelCapabilities,
        *,
        model: str,
        configured_mode: str,
        schema_version: str,
        tools: Sequence[Any],
    ) -> StructuredOutputSelection:
        if configured_mode == "compatibility":
            return JSON_MODE
        if capabilities.strict_json_schema:
            described = {"name": "program", "strict": True, "schema": self.schema}
            return StructuredOutputSelection({"type": "json_schema", "json_schema": described}, "strict")
        if configured_mode == "required":
            raise StructuredOutputUnsupportedError(f"{model} has no strict output")
        return JSON_MODE

    def fallback_after_rejection(
        self, selection: StructuredOutputSelection, configured_mode: str
    ) -> StructuredOutputSelection | None:
        return JSON_MODE if configured_mode == "auto" and selection.mode == "strict" else None


class OpenSchema(ToyNegotiator):
    """Its schema says no more than that there is an object."""

    schema = {"type": "object"}  # noqa: RUF012


class RaisingNegotiator(ToyNegotiator):
    """Where no fallback is granted, it raises instead of giving `None`."""

    def fallback_after_rejection(
        self, selection: StructuredOutputSelection, configured_mode: str
    ) -> StructuredOutputSelection | None:
        granted = super().fallback_after_rejection(selection, configured_mode)
        if granted is None:
            raise StructuredOutputUnsupportedError("no fallback")
        return granted


class EmptyNegotiator(DefaultModelCapabilityNegotiator):
    """One that counts as false, as an empty collection does."""

    def __len__(self) -> int:
        return 0


async def made_later() -> DefaultModelCapabilityNegotiator:
    return DefaultModelCapabilityNegotiator()


HONEST: dict[str, Callable[[], Any]] = {
    "treelang's own": DefaultModelCapabilityNegotiator,
    "written by hand": ToyNegotiator,
    "with an open schema": OpenSchema,
    "refusing by an error": RaisingNegotiator,
    "counting as false": EmptyNegotiator,
    "made by a coroutine": made_later,
}


@pytest.mark.parametrize("make", HONEST.values(), ids=HONEST.keys())
def test_an_honest_negotiator_is_conformant(make: Callable[[], Any]) -> None:
    report = run(NegotiatorSubject(make))
    failures = {check.id: check.failure for check in report.checks() if check.outcome is not CheckOutcome.PASSED}
    assert (report.conformant, report.suite, failures) == (True, SuiteName.NEGOTIATOR, {})
    assert {check.id.partition("/")[0] for check in report.checks()} == {f"NEG-{number}" for number in range(1, 7)}


class Generous(ToyNegotiator):
    """It grants a fallback whatever the policy."""

    def fallback_after_rejection(
        self, selection: StructuredOutputSelection, configured_mode: str
    ) -> StructuredOutputSelection | None:
        return JSON_MODE if selection.mode == "strict" else None


def test_a_fault_is_told_in_words() -> None:
    report = run(NegotiatorSubject(Generous), select=["NEG-4"])
    assert report.exit_code == 1
    failures = [check.failure for check in report.checks() if check.failure is not None]
    assert failures[0].expected == "no fallback (None)"
    assert all(failure.hint for failure in failures)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("treelang:DefaultModelCapabilityNegotiator", "--select", "NEG-6"), 0, "suite negotiator: conformant"),
        (("tests.conformance.test_negotiator_suite:Generous", "--select", "NEG-4"), 1, "violated: NEG-4"),
        (("tests.conformance.test_negotiator_suite:JSON_MODE",), 2, "takes nothing and returns a negotiator"),
        (("builtins:object",), 2, "the factory made a object, which has no capabilities()"),
        (("treelang:DefaultModelCapabilityNegotiator", "--wire", "openai-chat"), 2, "leave --wire out"),
    ],
)
def test_the_command_line_runs_the_suite(arguments: tuple[str, ...], code: int, said: str) -> None:
    ended = invoked("run", "--suite", "negotiator", *arguments)
    assert (ended.exit_code, said in ended.output) == (code, True), ended.output


def test_the_pytest_class_runs_the_suite(tmp_path: Path) -> None:
    code, output = adopters_run(
        tmp_path,
        """
        from treelang import DefaultModelCapabilityNegotiator
        from treelang_conformance import NegotiatorSuite

        class TestAcme(NegotiatorSuite, select=["NEG-1", "NEG-4"]):
            def make_negotiator(self):
                return DefaultModelCapabilityNegotiator()
        """,
    )
    assert code == 0, output
    assert "TestAcme::test_conformance[NEG-4/" in output
