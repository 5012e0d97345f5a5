"""What an evaluation gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from treelang.language.json_text import decode
from treelang.language.program import Program
from treelang.language.serialization import serialize
from treelang.transports.contract import ModelUsage


class EvalType(StrEnum):
    """How far an evaluation goes."""

    TREE = "tree"
    """To the validated program, which is not run: to look at it, to keep it, to run it later with `AST.eval`."""
    WALK = "walk"
    """To the program's result."""


@dataclass(frozen=True, slots=True)
class EvalResponse:
    """A question's program, its result, and what it took to get it. Its `repr` shows neither question nor data."""

    query: str = field(repr=False)
    """The question."""
    type: EvalType
    """How far the evaluation went."""
    program: Program = field(repr=False)
    """The validated program."""
    result: Any = field(default=None, repr=False)
    """What running the program gave; `None` where it was not run."""
    usage: ModelUsage = field(default_factory=ModelUsage)
    """Tokens of all requests together. `reported` is false where no request was answered with a usage."""
    attempts: int = 1
    """Requests that were made to the model, the rejected and the invalid ones among them."""
    fell_back: bool = False
    """Whether the provider rejected strict output, so that the same was asked in JSON mode (FBK-5, FBK-14)."""

    @property
    def content(self) -> Any:
        """What was asked for: the program under `EvalType.TREE`, its result under `EvalType.WALK`."""
        return self.program if self.type is EvalType.TREE else self.result

    @property
    def jsontree(self) -> dict[str, Any]:
        """The program as JSON values, made anew each time."""
        tree: dict[str, Any] = decode(serialize(self.program))
        return tree
