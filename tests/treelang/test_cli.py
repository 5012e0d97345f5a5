"""The `treelang` command: groups by entry points, and one line where something is not installed."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints

import pytest
from typer.testing import CliRunner

from treelang import __version__, cli
from treelang.cli import application


def test_the_version_is_shown() -> None:
    ended = CliRunner().invoke(application.build(), ["--version"])
    assert (ended.exit_code, ended.output) == (0, f"treelang {__version__}\n")


def test_groups_and_commands_come_from_entry_points() -> None:
    app = application.build()
    assert [group.name for group in app.registered_groups] == ["conformance", "matrix", "program"]
    assert [command.name for command in app.registered_commands] == ["ask"]


def test_a_group_that_cannot_be_loaded_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint("grove", "treelang_grove.cli:app", application.GROUP)
    monkeypatch.setattr(application, "entry_points", lambda *, group: EntryPoints([broken]))
    ended = CliRunner().invoke(application.build(), ["grove", "plant", "--trees", "7"])
    assert ended.exit_code == 2
    assert ended.stderr == "treelang grove: needs the module treelang_grove: pip install 'treelang[conformance]'\n"


def test_without_typer_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "treelang.cli.application")
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == "treelang: the command line needs typer: pip install 'treelang[conformance]'\n"


def test_importing_treelang_loads_neither_the_kit_nor_the_command_line() -> None:
    script = (
        "import sys, treelang; print(sorted({'treelang_conformance', 'treelang_matrix', 'typer'} & set(sys.modules)))"
    )
    ended = subprocess.run(  # our own command
        (sys.executable, "-c", script), capture_output=True, text=True, check=True, timeout=60
    )
    assert ended.stdout.strip() == "[]"
