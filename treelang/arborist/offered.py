"""The tools that are offered to the model, and whether a program keeps to them.

What is found here costs a retry; what only evaluated arguments can tell is found by the evaluator, when it is too late
to ask the model again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from treelang.errors import ASTValidationError
from treelang.language.node import IDENTIFIER
from treelang.language.program import Program
from treelang.tools.definition import ToolDefinition
from treelang.tools.fitting import check_fit


class OfferedTools:
    """The tools of one evaluation, by name, in the order in which they were selected.

    Args:
        selected: What a selector gave: definitions, or mappings that say the same.
        schema_version: The format of the programs that are to call them.

    Raises:
        ProviderResponseError: A definition is not valid.
        ASTValidationError: Two tools have the same name, or programs of the format cannot name one.
    """

    def __init__(self, selected: Iterable[ToolDefinition | Mapping[str, Any]], schema_version: str) -> None:
        self.definitions = [ToolDefinition.of(metadata) for metadata in selected]
        self._by_name = {definition.name: definition for definition in self.definitions}
        if len(self._by_name) < len(self.definitions):
            raise ASTValidationError("two of the selected tools have the same name; select each once")
        for name in self._by_name:
            if schema_version == "2.0" and re.fullmatch(IDENTIFIER, name) is None:
                raise ASTValidationError(
                    f"programs of format 2.0 cannot name the tool {name!r}, which is no identifier; "
                    "rename it, select others, or use format 1.0"
                )

    def check(self, program: Program) -> None:
        """Require that a program calls no other tools, and these with as many or with the right arguments.

        Raises:
            ASTValidationError: It does not; the error names the place and the mend.
        """
        check_fit(program, self._by_name)
