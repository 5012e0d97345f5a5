"""The kill table: every check of the kit on every mutant, and the page that says who was found by what.

Run it with: python -m tests.conformance.mutants.table [--check] [--thorough] [NAME ...]

It writes docs/kill-table.md and fails where a mutant survives, where a MUST clause that has checks kills none, or
where a mutant fails a clause that it does not declare. With `--check` the page is compared instead of written. With
names (or parts of them) only those mutants are tried, and the page is left alone.

Every check on every mutant takes a quarter of an hour. So of the clauses that a mutant does not declare every tenth
check is run, in one variant (one row of its table, one mode): always the same ones for a mutant but others for the
next, and on its first wire alone. `--thorough` runs everything everywhere, as is due after a change of the checks.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import multiprocessing
import os
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.conformance.mutants.catalogue import CONTROLS, catalogue
from tests.conformance.mutants.mutation import Mutant
from tests.conformance.mutants.trial import Trial, try_out
from treelang_conformance.clauses import clauses
from treelang_conformance.registry import Check, SuiteName, judging_checks

PAGE = Path(__file__).parents[3] / "docs" / "kill-table.md"

_INTRODUCTION = """# Kill table

A check that cannot fail proves nothing. Each mutant below is a subject of a suite with one thing broken. The clauses
that it violates have to find it, a transport on each of its wires, and no other clause may fail but those that it
declares to touch. The page is written by `make mutants`, which fails when a mutant survives, when a MUST clause with
checks kills none, or when a mutant fails a clause beside those.
"""


def try_all(names: Sequence[str], *, thorough: bool = False) -> Iterator[Trial]:
    """Try the controls and the mutants whose ids hold one of `names`, in parallel, in their order."""
    chosen = [
        (mutant.id, mutant.suite) for mutant in _everyone() if not names or any(name in mutant.id for name in names)
    ]
    context = multiprocessing.get_context("spawn")
    # More processes than cores: a trial waits for timeouts half of its time.
    with ProcessPoolExecutor(2 * (os.cpu_count() or 1), mp_context=context) as pool:
        for number, trial in enumerate(pool.map(functools.partial(_try, thorough=thorough), chosen), 1):
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{number} of {len(chosen)} mutants ")
            yield trial
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")


def _everyone() -> tuple[Mutant, ...]:
    return (*CONTROLS, *catalogue())


def _try(which: tuple[str, SuiteName], *, thorough: bool) -> Trial:
    mutant = next(mutant for mutant in _everyone() if (mutant.id, mutant.suite) == which)
    checks = judging_checks(mutant.suite) if thorough or mutant in CONTROLS else checks_for(mutant)
    trial = try_out(mutant, checks)
    gc.collect()  # what failures leave behind, which the kit's own collections pass over
    return dataclasses.replace(trial, mutant=dataclasses.replace(mutant))  # without its subject, which cannot travel


def checks_for(mutant: Mutant) -> list[Check]:
    """Every check of the clauses that a mutant declares and, on its first wire, a sample of all others."""
    first = next(other for other in catalogue() if other.name == mutant.name)
    checks = judging_checks(mutant.suite)
    chosen = [check for check in checks if check.clause in mutant.clauses]
    if mutant == first:
        chosen = [check for check in checks if check.clause in mutant.fails]
        chosen += _sample([check for check in checks if check.clause not in mutant.fails], mutant.name)
    return chosen


def _sample(checks: Sequence[Check], name: str) -> list[Check]:
    """One variant of every tenth check: always the same for a name, but others for another one."""

    def drawn(what: str) -> int:
        return zlib.crc32(f"{name} {what}".encode())

    variants: dict[str, list[Check]] = defaultdict(list)
    for check in checks:
        variants[f"{check.clause}/{check.name}"].append(check)
    sampled = sorted(variants, key=drawn)[::10]
    return [variants[each][drawn(f"variant of {each}") % len(variants[each])] for each in sampled]


def problems(trials: Sequence[Trial]) -> Iterator[str]:
    """What is wrong with the mutants or with the kit, one line each."""
    for trial in trials:
        yield from trial.problems()
    for suite in SuiteName:
        tried = [trial for trial in trials if trial.mutant.suite is suite]
        killing = {clause for trial in tried for clause in trial.mutant.clauses if clause in trial.found}
        checked = {check.clause for check in judging_checks(suite)}
        for clause in clauses():
            if clause.level == "MUST" and clause.id in checked and clause.id not in killing:
                yield f"{clause.id} kills no mutant of the suite {suite}"


def page(trials: Sequence[Trial]) -> str:
    """The kill table as Markdown."""
    rows: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        if trial.mutant not in CONTROLS:
            rows[trial.mutant.name].append(trial)
    lines = [
        _INTRODUCTION,
        f"{len(rows)} mutants, {sum(map(len, rows.values()))} trials counting the wires.\n",
        "| Mutant | What is broken | Suite | Wires | Found by |",
        "| --- | --- | --- | --- | --- |",
    ]
    killed: Counter[str] = Counter()
    for name, (first, *others) in rows.items():
        killed.update(first.found.keys())
        wires = ", ".join(trial.mutant.wire for trial in (first, *others))
        found = ", ".join(clause.id for clause in clauses() if clause.id in first.found)
        lines.append(f"| {name} | {first.mutant.breaks} | {first.mutant.suite} | {wires} | {found} |")
    lines += ["\n## By clause\n", "| Clause | Mutants that it finds |", "| --- | --- |"]
    lines += [f"| {clause.id} | {killed[clause.id]} |" for clause in clauses() if clause.id in killed]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Try the mutants, write or compare the page, and say what is wrong; 1 where anything is."""
    names = [argument for argument in arguments if not argument.startswith("--")]
    trials = list(try_all(names, thorough="--thorough" in arguments))
    wrong = [problem for problem in problems(trials) if not names or " kills no " not in problem]
    if not names:
        text = page(trials)
        if "--check" not in arguments:
            PAGE.write_text(text, encoding="utf-8")
        elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            wrong.append("docs/kill-table.md is stale; renew it with: make mutants")
    for problem in wrong:
        sys.stderr.write(f"{problem}\n")
    slowest = max((trial.seconds for trial in trials), default=0.0)
    sys.stdout.write(f"{len(trials)} trials, {len(wrong)} problems; the slowest took {slowest:.1f} s\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
