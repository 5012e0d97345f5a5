"""The command line: exit codes, one line for every mistake of a user's, and files where they were asked for."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.conformance.support.reports import EVERY_OUTCOME, report, result
from treelang.cli.application import build
from treelang_conformance.clauses import clauses
from treelang_conformance.registry import SuiteName, judging_checks
from treelang_conformance.report import load_report

PLAIN = "tests.conformance.support.plain:make"
TREELANG = Path(sys.executable).parent / "treelang"


def invoked(*arguments: object) -> Result:
    return CliRunner().invoke(build(), ["conformance", *map(str, arguments)])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, from which modules can be imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


def test_a_conformant_subject_ends_with_zero_and_a_table() -> None:
    ended = invoked("run", PLAIN, "--wire", "openai-chat", "--select", "CMP-10")
    assert ended.exit_code == 0, ended.output
    assert "PlainChatTransport on openai-chat: conformant" in ended.output
    assert "CMP completion" in ended.output
    assert re.search(r"^\d+ passed; the run took \d+\.\d s$", ended.output, re.MULTILINE)


def test_a_violation_ends_with_one_and_teaches(here: Path) -> None:
    (here / "acme.py").write_text(
        textwrap.dedent("""
            from tests.conformance.support import plain

            class Lossy(plain.PlainChatTransport):
                async def complete(self, request):
                    return (await super().complete(request)).strip()

            def make(endpoint):
                return Lossy(endpoint.url, endpoint.api_key, endpoint.timeout)
        """)
    )
    ended = invoked("run", "acme:make", "--wire", "openai-chat", "--select", "CMP-1")
    assert ended.exit_code == 1, ended.output
    assert "CMP-1 (MUST) `complete` returns a `str`" in ended.output
    assert "  exchange  > POST /v1/chat/completions" in ended.output
    assert "Lossy on openai-chat: not conformant: MUST clauses violated: CMP-1" in ended.output


def test_expected_failures_come_from_a_file(here: Path) -> None:
    (here / "known.toml").write_text('[CMP-10]\nreason = "it was so once"\nissue = "#1"\n')
    ended = invoked("run", PLAIN, "--wire", "openai-chat", "--select", "CMP-10", "--expected-failures", "known.toml")
    assert ended.exit_code == 1
    assert "expected failure CMP-10: it passes now; remove the entry (#1)" in ended.output


def test_every_report_is_written_and_worker_processes_make_the_same_one(here: Path) -> None:
    options = [
        part
        for form in ("json", "html", "junit", "markdown")
        for part in (f"--{form}", here / "reports" / f"oak.{form}")
    ]
    ended = invoked("run", PLAIN, "--wire", "openai-chat", "--select", "CMP-3,CMP-10", "--jobs", 2, *options)
    assert ended.exit_code == 0, ended.output
    assert {path.suffix for path in (here / "reports").iterdir()} == {".json", ".html", ".junit", ".markdown"}
    alone = invoked(
        "run", PLAIN, "--wire", "openai-chat", "--select", "CMP-3,CMP-10", "--jobs", 1, "--json", here / "alone.json"
    )
    assert alone.exit_code == 0
    by_two, by_one = load_report(here / "reports" / "oak.json"), load_report(here / "alone.json")
    assert [(one.id, one.outcome) for one in by_two.checks()] == [(one.id, one.outcome) for one in by_one.checks()]
    assert (by_one.subject.name, by_one.subject.target) == ("PlainChatTransport", PLAIN)


def test_a_worker_process_that_dies_is_told_with_the_mend(here: Path) -> None:
    (here / "deadly.py").write_text(
        textwrap.dedent("""
            import multiprocessing
            import os
            from tests.conformance.support import plain

            def make(endpoint):
                if multiprocessing.parent_process() is not None:
                    os._exit(7)
                return plain.make(endpoint)
        """)
    )
    ended = invoked("run", "deadly:make", "--wire", "openai-chat", "--select", "CMP-3,CMP-10", "--jobs", 2)
    assert (ended.exit_code, ended.stderr) == (
        2,
        "treelang conformance: a worker process died; find the check that kills it with --jobs 1\n",
    )


MISTAKES = {
    "not importable": ("nowhere.testing:make", (), "no module named 'nowhere'; run this from the folder that holds it"),
    "imports what is missing": (
        "imports_missing:make",
        (),
        "no module named 'leaflet'; install what the module imports",
    ),
    "not even Python": ("not_python:make", (), "importing not_python raised SyntaxError"),
    "a script that exits": ("script:make", (), "importing script raised SystemExit"),
    "no such attribute": ("acme:maek", (), "unknown attribute 'maek'; did you mean make?"),
    "not callable": ("acme:NAME", (), "is of type str and not callable; name a function that takes an endpoint"),
    "not a target": ("acme", (), "write it as module:attribute, for instance acme.testing:make"),
    "factory raises": ("acme:make", (), "the factory raised ValueError: no such deployment"),
    "unknown wire": (PLAIN, ("--wire", "openai-chats"), "unknown wire 'openai-chats'; did you mean openai-chat?"),
    "unknown clause": (PLAIN, ("--select", "CAN,ERR8"), "unknown clause 'ERR8'; did you mean ERR-8?"),
    "unknown feature": (PLAIN, ("--features", "usages"), "unknown feature 'usages'; did you mean usage?"),
    "no expectations": (PLAIN, ("--expected-failures", "none.toml"), "none.toml: cannot be read: No such file"),
    "not writable": (
        PLAIN,
        ("--select", "CMP-10", "--json", "acme.py/oak.json"),
        "acme.py: cannot be written: ",
    ),
}


@pytest.mark.parametrize(("target", "options", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_and_ends_with_two(
    here: Path, target: str, options: tuple[str, ...], message: str
) -> None:
    (here / "acme.py").write_text("NAME = 'acme'\ndef make(endpoint):\n    raise ValueError('no such deployment')\n")
    (here / "imports_missing.py").write_text("import leaflet\n")
    (here / "script.py").write_text("import sys\nsys.exit()\n")
    (here / "not_python.py").write_text("def make(:\n")
    sys.modules.pop("acme", None)
    ended = invoked("run", target, "--wire", "openai-chat", *options)
    assert ended.exit_code == 2, ended.output
    (line,) = ended.stderr.splitlines()
    assert line.startswith("treelang conformance: ")
    assert message in line


def test_a_selection_of_unchecked_clauses_runs_nothing_and_fails() -> None:
    ended = invoked("run", PLAIN, "--wire", "openai-chat", "--select", "SEC-4")
    assert ended.exit_code == 1
    assert "not conformant: nothing ran: no selected check applies to this subject" in ended.output


def test_list_shows_every_clause_and_what_is_unchecked() -> None:
    ended = invoked("list")
    assert ended.exit_code == 0
    listed = [line.split()[0] for line in ended.output.splitlines() if line[:1].isupper()]
    assert listed == [clause.id for clause in clauses()]
    rows = {line.split()[0]: line.split()[1:4] for line in ended.output.splitlines() if line[:1].isupper()}
    assert rows["SEC-4"][:2] == ["MUST", "unchecked"]
    checks = {suite: sum(check.clause == "FBK-13" for check in judging_checks(suite)) for suite in SuiteName}
    assert rows["FBK-13"] == ["MUST", f"{sum(checks.values())}", "transport,"]
    assert {suite for suite, number in checks.items() if number} == {SuiteName.TRANSPORT, SuiteName.FALLBACK}


def test_explain_shows_clause_checks_and_how_to_select_them() -> None:
    ended = invoked("explain", "CMP-10")
    assert ended.exit_code == 0
    assert ended.output.startswith("CMP-10 (MUST) After any failure the same transport serves the next call.")
    assert "proves that: " in ended.output
    assert "run it alone: treelang conformance run TARGET --wire WIRE --select CMP-10" in ended.output


def test_explain_of_an_unknown_clause_names_the_nearest() -> None:
    ended = invoked("explain", "CMP10")
    assert (ended.exit_code, ended.stderr) == (
        2,
        "treelang conformance: unknown clause 'CMP10'; did you mean CMP-10?\n",
    )


def test_show_puts_reports_side_by_side_and_fails_if_one_does(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(report(result("CMP-1/a")).to_json())
    bad.write_text(EVERY_OUTCOME.to_json())
    assert invoked("show", good).exit_code == 0
    both = invoked("show", good, bad)
    assert both.exit_code == 1
    assert re.search("Oak +Oak\n +openai-chat +openai-chat\nclauses +passed failed", both.output)


def test_show_puts_reports_below_each_other_where_they_are_too_wide(tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.json" for number in range(5)]
    for file in files:
        file.write_text(report(result("CMP-1/a")).to_json())
    assert invoked("show", *files).output.count("\nclauses ") == len(files)


def test_show_of_something_else_names_file_and_field(tmp_path: Path) -> None:
    path = tmp_path / "oak.json"
    path.write_text('{"schema_version": "9"}')
    ended = invoked("show", path)
    assert ended.exit_code == 2
    assert f"{path}: schema_version: is '9'" in ended.stderr


def test_the_command_itself_runs_shows_no_colour_in_a_pipe_and_no_traceback(here: Path) -> None:
    (here / "acme.py").write_text("from tests.conformance.support.plain import make\n")
    command = (str(TREELANG), "conformance", "run", "acme:make", "--wire", "openai-chat", "--select", "CMP-10")
    ended = subprocess.run(  # our own command
        command,
        capture_output=True,
        text=True,
        timeout=60,
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": ""},
    )
    assert ended.returncode == 0, ended.stderr
    assert "conformant" in ended.stdout
    assert "\x1b" not in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
