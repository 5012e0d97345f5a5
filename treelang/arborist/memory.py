"""What an arborist remembers of earlier questions."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@runtime_checkable
class Memory(Protocol):
    """Where the turns of earlier evaluations are kept. They are sent between the instructions and the new question.

    An evaluation that succeeds adds two turns at once: the question, and the program that the model wrote. What tools
    gave is no part of them, and so stays on this side of the model boundary.
    """

    async def add(self, messages: Sequence[ChatMessage]) -> None:
        """Keep these turns, which belong together."""
        ...

    async def get(self) -> Sequence[ChatMessage]:
        """The turns to send, the oldest first."""
        ...

    async def clear(self) -> None:
        """Forget everything."""
        ...


class ConversationMemory:
    """Keeps the latest evaluations in this process.

    Args:
        max_exchanges: How many questions, with their programs, are kept.

    Raises:
        ValueError: `max_exchanges` is not positive.
    """

    def __init__(self, max_exchanges: int = 10) -> None:
        if max_exchanges < 1:
            raise ValueError("max_exchanges must be at least 1")
        self._exchanges: deque[tuple[ChatMessage, ...]] = deque(maxlen=max_exchanges)

    def __repr__(self) -> str:
        return f"ConversationMemory({len(self._exchanges)} of {self._exchanges.maxlen} exchanges)"

    async def add(self, messages: Sequence[ChatMessage]) -> None:
        """Keep these turns, and forget the oldest exchange if there are too many."""
        self._exchanges.append(tuple(messages))

    async def get(self) -> list[ChatMessage]:
        """The turns of all exchanges that are kept, the oldest first."""
        return [message for exchange in self._exchanges for message in exchange]

    async def clear(self) -> None:
        """Forget everything."""
        self._exchanges.clear()
