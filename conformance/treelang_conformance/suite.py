"""The kit under pytest: classes to inherit from, one node id a check, no asyncio plugin needed.

    class TestAcme(TransportSuite, wire="openai-chat"):
        def make_transport(self, endpoint):
            return AcmeTransport(base_url=endpoint.url, api_key=endpoint.api_key, timeout=endpoint.timeout)

Every test is a plain function: each check brings its own thread and event loop, so whatever plugin and mode an
adopter has for asyncio plays no part.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import pytest

from treelang import ModelTransport
from treelang_conformance.clauses import Level, UnknownClauseError, find_clause, unknown
from treelang_conformance.endpoint import Endpoint
from treelang_conformance.execution import Executor
from treelang_conformance.expectations import (
    ExpectedFailure,
    covers,
    defects,
    expect,
    find_expectation,
    is_unexpected_pass,
    unexpected_pass,
)
from treelang_conformance.hosting import HostedTool
from treelang_conformance.plugin import CLAUSE_PROPERTY, OUTCOME_PROPERTY
from treelang_conformance.probe import SubjectError, probe, unbuildable
from treelang_conformance.registry import Check, SuiteName, judging_checks, wiring_check
from treelang_conformance.report import CheckOutcome, CheckResult
from treelang_conformance.reports.text import failure_text, short_failure_text
from treelang_conformance.runner import MISWIRED
from treelang_conformance.selection import select_checks
from treelang_conformance.subject import (
    AnySubject,
    NegotiatorSubject,
    Subject,
    ToolProviderSubject,
    UnknownFeatureError,
)
from treelang_conformance.wires.base import Wire
from treelang_conformance.wires.discovery import UnknownWireError, find_wire

if TYPE_CHECKING:  # it brings the program formats, which a run of a transport does not wait for
    from treelang import ModelCapabilityNegotiator


class Suite:
    """What all suites have in common; inherit from one of those below.

    The attributes can be given as keywords in the class line or as class variables.

    Attributes:
        select: Families, clauses or checks to run; everything for `None`.
        expected_failures: Failures to tolerate, by clause or check id.
        patience: What the kit's bounds in time are multiplied by, for slow or busy machines.
        seed: Which examples the property checks make; a failure names the one that it was found with.
    """

    select: ClassVar[Sequence[str] | None] = None
    expected_failures: ClassVar[Mapping[str, ExpectedFailure]] = {}
    patience: ClassVar[float] = 1.0
    seed: ClassVar[int] = 0

    _suite: ClassVar[SuiteName]
    _keywords: ClassVar[tuple[str, ...]] = ("select", "expected_failures", "patience", "seed")
    _results: ClassVar[dict[str, CheckResult]]
    _told_of_wiring: ClassVar[bool] = False

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__()
        for name, value in keywords.items():
            if name not in cls._keywords:
                raise TypeError(f"class {cls.__name__}: {unknown('keyword', name, cls._keywords)}")
            setattr(cls, name, value)
        cls._results = {}

    # --- what pytest calls ---

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make one test of each selected check."""
        if "conformance_check" in metafunc.fixturenames:
            checks = self._selected()
            marked = [pytest.param(check, id=check.id, marks=pytest.mark.conformance(check.clause)) for check in checks]
            metafunc.parametrize("conformance_check", marked)

    def test_wiring(self) -> None:
        """What is under test is made and does the least that every check needs."""
        if not self._is_wired():
            type(self)._told_of_wiring = False
            self._tell_of_wiring()

    def test_conformance(self, conformance_check: Check, record_property: Callable[[str, object], None]) -> None:
        """One check of the kit."""
        record_property(CLAUSE_PROPERTY, conformance_check.clause)
        if not self._is_wired():
            record_property(OUTCOME_PROPERTY, CheckOutcome.COULD_NOT_RUN.value)
            self._tell_of_wiring()
            pytest.skip(f"could not run: {MISWIRED}")
        result = self._run(conformance_check)
        record_property(OUTCOME_PROPERTY, result.outcome.value)  # plain, for xdist sends it to another process
        _finish(conformance_check, result)

    def test_expected_failures_are_current(self) -> None:
        """Every expected failure names something that exists, has not expired, and still fails."""
        problems = defects(self.expected_failures, judging_checks(self._suite))
        selected = self._selected() if self._is_wired() else []
        for identifier, entry in self.expected_failures.items():
            covered = [
                self._results.get(check.id) or self._run(check) for check in selected if covers(identifier, check)
            ]
            if is_unexpected_pass(covered):
                problems.append(unexpected_pass(identifier, entry))
        if problems:
            pytest.fail("\n".join(problems), pytrace=False)

    # --- how it is done ---

    def _subject(self) -> AnySubject:
        raise NotImplementedError

    def _wire(self) -> Wire | None:
        return None

    def _selected(self) -> list[Check]:
        try:
            self._wire()
            self._subject()
            return select_checks(judging_checks(self._suite), self.select)
        except (UnknownClauseError, UnknownFeatureError, UnknownWireError) as error:
            mistake = str(error)
        return _refuse(self, mistake)

    def _wiring(self) -> CheckResult:
        check = wiring_check(self._suite)
        if check.id not in self._results:
            try:
                probe(self._subject(), self._wire())
                self._results[check.id] = self._executor().run(check)
            except SubjectError as mistake:
                self._results[check.id] = unbuildable(self._suite, str(mistake))
        return self._results[check.id]

    def _is_wired(self) -> bool:
        return self._wiring().outcome is CheckOutcome.PASSED

    def _tell_of_wiring(self) -> None:
        """Fail with the whole story once a process: no run is green for want of the wiring test, and none floods."""
        if not self._told_of_wiring:
            type(self)._told_of_wiring = True
            pytest.fail(failure_text(self._wiring()), pytrace=False)

    def _run(self, check: Check) -> CheckResult:
        result = expect(self._executor().run(check), find_expectation(check, self.expected_failures))
        self._results[check.id] = result
        return result

    def _executor(self) -> Executor:
        return Executor(self._subject(), self._wire(), self.patience, self.seed)


class TransportSuite(Suite):
    """Checks of a transport: inherit from this, name the wire, and say how the transport is made.

    Attributes:
        wire: Name of the protocol that the transport speaks.
        features: What the transport must offer (`usage`, `capabilities`); `None` judges what it has.
    """

    wire: ClassVar[str] = ""
    features: ClassVar[frozenset[str] | None] = None

    _suite = SuiteName.TRANSPORT
    _keywords = (*Suite._keywords, "wire", "features")

    def make_transport(self, endpoint: Endpoint) -> ModelTransport | Awaitable[ModelTransport]:
        """Return the transport under test, or do so from an `async def`; called once or more for every check."""
        raise NotImplementedError(f"class {type(self).__name__}: define make_transport(self, endpoint)")

    async def close_transport(self, transport: Any) -> None:
        """Close a transport that was made. By default its own `aclose()` or `close()` is called, if it has one."""
        await Subject(self.make_transport).dispose(transport)

    def _subject(self) -> Subject:
        return Subject(
            self.make_transport,
            name=type(self).__name__,
            close=self.close_transport,
            features=None if self.features is None else frozenset(self.features),
        )

    def _wire(self) -> Wire:
        if not self.wire:
            _refuse(self, 'name the wire in the class line, for instance wire="openai-chat"')
        return find_wire(self.wire)


class FallbackSuite(TransportSuite):
    """Checks of a transport under the reference arborist: what is asked for, and what follows a failure."""

    _suite = SuiteName.FALLBACK


class NegotiatorSuite(Suite):
    """Checks of a negotiator: inherit from this, and say how it is made."""

    _suite = SuiteName.NEGOTIATOR

    def make_negotiator(self) -> ModelCapabilityNegotiator | Awaitable[ModelCapabilityNegotiator]:
        """Return a negotiator that remembers nothing, or do so from an `async def`; called for every check."""
        raise NotImplementedError(f"class {type(self).__name__}: define make_negotiator(self)")

    def _subject(self) -> NegotiatorSubject:
        return NegotiatorSubject(self.make_negotiator, name=type(self).__name__)


class ToolProviderSuite(Suite):
    """Checks of a tool provider: inherit from this, and say how one is made that offers the tools of the kit."""

    _suite = SuiteName.TOOLS

    def make_provider(self, tools: Sequence[HostedTool]) -> Any:
        """Return a provider that offers `tools`, or an asynchronous context manager that gives one.

        It may be an `async def`, and is called once or more for every check.

        Args:
            tools: What to offer.

        Raises:
            CannotHost: This provider has no room for such a tool; the check does not apply.
        """
        raise NotImplementedError(f"class {type(self).__name__}: define make_provider(self, tools)")

    def _subject(self) -> ToolProviderSubject:
        return ToolProviderSubject(self.make_provider, name=type(self).__name__)


def _refuse(suite: Suite, message: str) -> NoReturn:
    pytest.fail(f"class {type(suite).__name__}: {message}", pytrace=False)


def _finish(check: Check, result: CheckResult) -> None:
    match result.outcome:
        case CheckOutcome.PASSED:
            return
        case CheckOutcome.NOT_APPLICABLE:
            pytest.skip(result.reason)
        case CheckOutcome.EXPECTED_FAILURE:
            pytest.xfail(f"{result.reason} ({result.issue})")
        case CheckOutcome.FAILED if find_clause(check.clause).level is Level.SHOULD:
            pytest.xfail(f"SHOULD: {short_failure_text(result)}")
        case _:
            pytest.fail(failure_text(result), pytrace=False)
