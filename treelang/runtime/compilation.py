"""From programs to code: once for each program, whatever runs it and how often."""

from __future__ import annotations

from dataclasses import dataclass

from treelang.language import v1
from treelang.language.identity import IdentityCache
from treelang.language.program import Program
from treelang.language.validation import check
from treelang.runtime.code import Code, Frame, on_fresh_stack, too_deep
from treelang.runtime.code_v1 import FormatV1
from treelang.runtime.code_v2 import FormatV2
from treelang.runtime.site import Format, Site

_LEVELS_ON_ONE_STACK = 24
"""How many levels of nodes stand on each other on Python's stack before the next one descends to the driver."""


@dataclass(frozen=True, slots=True)
class CompiledProgram:
    """A program that can be run.

    Attributes:
        code: The code of the whole program.
        frame: What that code is evaluated with.
        depth: How deep the deepest node is nested.
    """

    code: Code
    frame: Frame
    depth: int


_compiled: IdentityCache[Program, CompiledProgram] = IdentityCache()


def compiled(program: Program, max_depth: int | None = None) -> CompiledProgram:
    """The program's code; nodes deeper than the limit fail when they are evaluated.

    Raises:
        ASTValidationError: The program was made in Python, and is not valid.
    """
    known = _compiled.get(program)
    if known is None:
        check(program)
        known = _compile(program, None)
        _compiled.set(program, known)
    if max_depth is not None and known.depth > max_depth:
        return _compile(program, max_depth)
    return known


def _compile(program: Program, max_depth: int | None) -> CompiledProgram:
    form: Format = FormatV1() if isinstance(program, v1.TreeProgram) else FormatV2(program)
    root = Site(program, None, 1, {})
    sites: list[tuple[Site, Site | None]] = [(root, None)]
    for site, _ in sites:  # which grows while it is walked over, so that a node stands before those below it
        if max_depth is None or site.depth <= max_depth:
            sites.extend((child, site) for child in form.below(site))
    code = None
    for site, above in reversed(sites):
        if max_depth is not None and site.depth > max_depth:
            code = too_deep(max_depth, site.path)
        else:
            site.codes.reverse()  # they came from the last to the first
            code = form.code(site)
        if code.get is None and site.depth % _LEVELS_ON_ONE_STACK == 0:
            code = on_fresh_stack(code)
        if above is not None:
            above.codes.append(code)
    assert code is not None  # noqa: S101 - there is a root
    return CompiledProgram(code, form.frame, max(site.depth for site, _ in sites))
