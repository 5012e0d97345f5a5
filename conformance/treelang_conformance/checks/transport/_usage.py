"""Words for the checks of usage."""

from __future__ import annotations

from typing import Any

from treelang import ModelTransport, ModelUsage
from treelang_conformance.cases.transport import Case
from treelang_conformance.neutral import Answer, Usage
from treelang_conformance.outcome import Outcome

USAGE = ("usage",)
"""What a transport must offer for a check of usage to apply."""


def require_usage(case: Case, outcome: Outcome, usage: Usage) -> None:
    """What `consume_usage()` said after the call are these counters, as reported ones."""
    require_counters(case, outcome.usage, usage)


def require_counters(case: Case, got: Any, usage: Usage) -> None:
    """A usage is a `ModelUsage` with these counters, as reported ones."""
    wanted = ModelUsage(usage.prompt_tokens or 0, usage.completion_tokens or 0, reported=True)
    case.require(
        isinstance(got, ModelUsage) and got == wanted and got.reported is True,
        expected=f"consume_usage() to give {wanted}",
        happened=f"it gave {got}",
    )


def require_nothing_reported(case: Case, got: Any) -> None:
    """A usage is zero, and says that nothing was reported."""
    case.require(
        isinstance(got, ModelUsage) and got == ModelUsage() and got.reported is False,
        expected=f"consume_usage() to give {ModelUsage()}",
        happened=f"it gave {got}",
    )


EARLIER = Usage(101, 103)
"""What an earlier call leaves, unlike anything that a later one reports."""


async def leave_usage_behind(case: Case, transport: ModelTransport | None = None) -> None:
    """Make a good call, in the current context, whose usage nobody consumes."""
    case.answers(Answer.of("An earlier ", "answer.", usage=EARLIER))
    await case.invoke(transport=transport)
