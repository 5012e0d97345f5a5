"""The rules that no schema can say: names, places of parameters, arity, memos that depend on each other.

They hold for programs that were read and for those that were made in Python; what was found right is remembered.
"""

from __future__ import annotations

from treelang.language import v1
from treelang.language.identity import IdentityCache
from treelang.language.pointer import Path
from treelang.language.program import Program
from treelang.language.validation_v1 import check_lambdas
from treelang.language.validation_v2 import check_functions

_right: IdentityCache[Program, bool] = IdentityCache()


def check(program: Program, path: Path = None) -> None:
    """Require that a program keeps the static rules of its format.

    Args:
        program: The program.
        path: Where it stands in a list of programs.

    Raises:
        ASTValidationError: It does not; the error names the place and the mend.
    """
    if _right.get(program):
        return
    if isinstance(program, v1.TreeProgram):
        check_lambdas(program, path)
    else:
        check_functions(program, path)
    _right.set(program, True)
