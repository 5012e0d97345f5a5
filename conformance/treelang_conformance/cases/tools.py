"""What a check of a tool provider is given: tools to describe and watch, and a provider that hosts them."""

from __future__ import annotations

import contextlib

from treelang import ToolProvider
from treelang_conformance.cases.judge import Judge, Surroundings
from treelang_conformance.hosting import HostedTool
from treelang_conformance.subject import ToolProviderSubject


class ToolsCase(Judge):
    """The surroundings of one check of a tool provider.

    Attributes:
        subject: What is under test.
    """

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.subject: ToolProviderSubject = surroundings.subject
        self._open = contextlib.AsyncExitStack()

    async def hosting(self, *tools: HostedTool) -> ToolProvider:
        """A provider under test that offers `tools`, until the check ends; one more each time."""
        return await self._open.enter_async_context(self.subject.hosting(tools))

    async def close(self) -> None:
        """Close every provider that was made."""
        with self.succeeding("closing the tool provider", expected="the tool provider to close"):
            await self._open.aclose()
