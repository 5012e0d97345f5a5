"""`treelang program`: what it says of good and bad programs, of missing tools, and with which status it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import Result
from typer.testing import CliRunner

from tests.treelang.language.programs import (
    call,
    choice,
    define,
    function,
    lambda_,
    literal,
    memo,
    over,
    program,
    program2,
    tool,
    value,
    variable,
)
from treelang.cli.application import build
from treelang.language.published import published_schema

TOOLS = '''
import asyncio

async def shout(text: str) -> str:
    """The text in capitals."""
    return text.upper()

async def fail() -> None:
    raise LookupError("with a secret")

async def give_up() -> None:
    asyncio.current_task().cancel()
    await asyncio.sleep(0)

async def hang() -> None:
    await asyncio.Event().wait()

few = [shout]
'''
SERVER = f"{sys.executable} {Path(__file__).parent / 'tools' / 'mcp_server.py'} stdio"
GREETING = program(function("shout", value("text", "grün")))
DEEP = 100_000


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a module of tools."""
    (tmp_path / "forest.py").write_text(TOOLS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "forest", raising=False)
    return tmp_path


def shell(*arguments: str, text: str | bytes | dict[str, Any] | None = None) -> Result:
    """The command with its standard input; nothing may escape it."""
    given = json.dumps(text) if isinstance(text, dict) else text
    result = CliRunner().invoke(build(), ["program", *arguments], input=given)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    return result


def test_valid_programs_are_called_valid(folder: Path) -> None:
    (folder / "one.json").write_text(json.dumps(GREETING))
    result = shell("validate", "one.json", "-", text=program2(literal(1)))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "one.json: valid, format 1.0, 3 nodes\nstandard input: valid, format 2.0, 2 nodes\n"


def test_every_program_is_judged_and_one_that_is_not_valid_decides(folder: Path) -> None:
    (folder / "bad.json").write_text(json.dumps(program2(call("f"), call("g"))))
    (folder / "good.json").write_text(json.dumps(GREETING))
    result = shell("validate", "bad.json", "good.json")
    assert result.exit_code == 1
    assert result.stdout == "good.json: valid, format 1.0, 3 nodes\n"
    assert result.stderr == (
        "treelang program: bad.json: the program defines no function 'f': call a tool with a tool_call "
        "(at /body/0/function)\n"
    )


@pytest.mark.parametrize("command", ["validate", "inspect", "run"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"{", "no valid JSON, line 1 column 2"),
        (b"\xff\xfe", "no UTF-8 text, from byte 0 on; save it as UTF-8 (at the root)"),
        (b"[1]", "a program is a JSON object, and not an array"),
        (b'{"schema_version": "3.0"}', "the version is unknown; use '1.0' or '2.0' (at /schema_version)"),
        (b"[" * DEEP + b"]" * DEEP, "nested deeper than"),
        (
            b'{"type":"program","mode":"single","body":[{"type":"value","name":"x","value":1e999}]}',
            "(at /body/0/value)",
        ),
        (
            rb'{"type":"program","mode":"single","body":[{"type":"value","name":"x","value":"\ud800"}]}',
            "lone surrogate",
        ),
        (
            json.dumps(program2(memo("a", memo("b", call("f"))), definitions=[define("f", [], memo("a", literal(1)))])),
            "(at /",
        ),
    ],
    ids=["no JSON", "no UTF-8", "no object", "version", "deep", "number", "surrogate", "memo"],
)
def test_a_program_that_is_not_valid_is_refused_with_place_and_mend(
    command: str, text: str | bytes, words: str
) -> None:
    result = shell(command, "-", text=text)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("treelang program: standard input: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr


def test_a_mark_at_the_beginning_of_a_file_does_no_harm() -> None:
    assert shell("validate", "-", text=b"\xef\xbb\xbf" + json.dumps(GREETING).encode()).exit_code == 0


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (program(function("whisper")), "there is no tool 'whisper'; use one of 'shout', "),
        (program(function("shout")), "the tool 'shout' needs the param 'text'"),
        (program(function("shout", value("a", 1), value("b", 2))), "takes the params ['text'], but 2 are given"),
        (program2(tool("shout", words=literal("x"))), "the tool 'shout' needs the argument 'text'"),
        (program2(tool("shout", text=literal("x"), loud=literal(1))), "has no argument 'loud'"),
    ],
)
def test_a_program_that_does_not_fit_its_tools_is_not_valid(raw: dict[str, Any], words: str) -> None:
    assert shell("validate", "-", text=raw).exit_code == 0
    result = shell("validate", "-", "--tools", "forest", text=raw)
    assert result.exit_code == 1
    assert words in result.stderr
    assert "(at /body/0/" in result.stderr


def test_a_program_is_shown_as_a_tree() -> None:
    countdown = define("f", ["n"], choice(variable("n"), call("f", tool("less", n=variable("n"))), literal(["x"] * 30)))
    result = shell(
        "inspect", "-", text=program2(memo("k", call("f", literal(3))), definitions=[countdown], name="Down")
    )
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "format 2.0, 11 nodes, 6 levels",
        "tools: less (1 call)",
        "",
        "program single 'Down'",
        "  function_definition f (n)",
        "    conditional",
        "      variable n",
        "      call f",
        "        tool_call less (n)",
        "          variable n",
        '      literal ["x", "x", "x", "x", "x", "x", "x", "x", "x", "x", "x", "...',
        "  memo k",
        "    call f",
        "      literal 3",
    ]


def test_lists_and_lambdas_are_shown_too() -> None:
    body = function("functions.pair", value("x"), value("y", 1))
    result = shell("inspect", "-", text=program(over("map", ["x"], body, [1, 2]), mode="parallel"))
    assert result.stdout.splitlines() == [
        "format 1.0, 7 nodes, 5 levels",
        "tools: pair (1 call)",
        "",
        "program parallel",
        "  map",
        "    lambda (x)",
        "      function functions.pair",
        "        value x = null",
        "        value y = 1",
        "    value items = [1, 2]",
    ]


def test_a_deep_program_is_shown_without_endless_blanks() -> None:
    nested = literal(1)
    for _ in range(5_000):
        nested = tool("same", x=nested)
    text = shell("inspect", "-", text=_text_of(nested)).stdout
    assert text.startswith("format 2.0, 5002 nodes, 5002 levels\ntools: same (5000 calls)\n")
    assert max(map(len, text.splitlines())) < 100


def _text_of(expression: dict[str, Any]) -> str:
    """A deep program as text; `json` itself would meet Python's limit."""
    pieces = []
    while expression["type"] == "tool_call":
        pieces.append('{"type":"tool_call","tool":"same","arguments":{"x":')
        expression = expression["arguments"]["x"]
    inner = "".join(pieces) + json.dumps(expression) + "}}" * len(pieces)
    return f'{{"type":"program","schema_version":"2.0","body":[{inner}]}}'


def test_a_program_runs_with_the_functions_of_a_module() -> None:
    result = shell("run", "-", "--tools", "forest", text=GREETING)
    assert (result.exit_code, result.stdout, result.stderr) == (0, '"GRÜN"\n', "")


def test_a_program_without_tools_runs_without_tools() -> None:
    result = shell("run", "-", text=program(value("x", 1), value("y", [2])))
    assert (result.exit_code, json.loads(result.stdout)) == (0, [1, [2]])


def test_a_program_runs_with_an_mcp_server_and_a_module_together(folder: Path) -> None:
    both = program(function("shout", value("text", "a")), function("add", value("a", 20), value("b", 22)))
    (folder / "both.json").write_text(json.dumps(both))
    tools = ("--mcp", SERVER, "--tools", "forest:few")
    assert installed("validate", "both.json", *tools) == (0, "both.json: valid, format 1.0, 6 nodes\n", "")
    status, output, errors = installed("run", "both.json", *tools)
    assert (status, json.loads(output), errors) == (0, ["A", 42], "")


def installed(*arguments: str, text: str = "") -> tuple[int, str, str]:
    """The command as it is installed; a server's process needs real files."""
    ended = subprocess.run(
        ["treelang", "program", *arguments],
        input=text,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        env={"PATH": str(Path(sys.executable).parent), "PYTHONUTF8": "1"},
    )
    return ended.returncode, ended.stdout, ended.stderr


def test_tools_that_are_there_twice_are_status_2() -> None:
    status, output, errors = installed("run", "-", "--mcp", SERVER, "--tools", "forest", text=json.dumps(GREETING))
    assert (status, output) == (2, "")
    assert errors.startswith(
        "treelang program: the tool 'fail' is offered by provider 1 (FunctionToolProvider) and by "
    )


@pytest.mark.parametrize(
    ("raw", "options", "message"),
    [
        (
            program(function("fail")),
            [],
            "ToolExecutionError: the tool 'fail' failed with LookupError (at /body/0)",
        ),
        (program(function("whisper")), [], "ToolNotFoundError: there is no tool 'whisper' (at /body/0)"),
        (program(function("give_up")), [], "a tool has cancelled the run"),
        (
            program(function("hang")),
            ["--timeout", "0.01"],
            "ExecutionLimitError: the execution limit of wall_clock_seconds is exceeded: 0.01",
        ),
        (
            program(value("x", 1)),
            ["--max-nodes", "1"],
            "ExecutionLimitError: the execution limit of nodes is exceeded: 1",
        ),
        (
            program(lambda_(["x"], function("shout", value("x")))),
            [],
            "the program's result is a lambda that nothing applies, and no JSON value",
        ),
    ],
    ids=["tool fails", "no tool", "cancelled", "deadline", "limit", "lambda"],
)
def test_a_run_that_fails_ends_with_one_line_and_status_1(
    raw: dict[str, Any], options: list[str], message: str
) -> None:
    result = shell("run", "-", "--tools", "forest", *options, text=raw)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"treelang program: standard input: {message}\n"


def test_a_result_too_deep_for_json_ends_with_one_line_too() -> None:
    inner = '{"type":"value","name":"x","value":1}'
    opening = f'{{"type":"program","mode":"single","body":[{inner},'
    result = shell("run", "-", text=opening * 3_000 + inner + "]}" * 3_000)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "treelang program: standard input: the program's result is nested too deep to be shown\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "missing.json"], "missing.json: cannot be read: No such file or directory"),
        (["validate", "."], ".: cannot be read: Is a directory"),
        (["run", "-", "--tools", "no_such_module"], "no module named 'no_such_module'"),
        (["validate", "-", "--tools", "no_such_module"], "no module named 'no_such_module'"),
        (["run", "-", "--mcp", f"{sys.executable} -c pass"], "MCP server"),
        (["run", "-", "--mcp", "a 'b"], "this is no command: No closing quotation"),
        (["run", "-", "--mcp", ""], "name the command that starts it, or its address"),
        (["run", "-", "--timeout", "0"], "timeout_seconds must be a positive number"),
        (["schema", "3.0"], "there is no format '3.0'; use one of 1.0, 2.0"),
    ],
)
def test_what_cannot_be_tried_ends_with_one_line_and_status_2(arguments: list[str], words: str) -> None:
    result = shell(*arguments, text=GREETING)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("treelang program: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr


def test_a_wrong_option_is_status_2() -> None:
    assert shell("run", "-", "--max-nodes", "none", text=GREETING).exit_code == 2


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_the_schema_that_is_printed_is_the_published_one(version: str) -> None:
    result = shell("schema", version)
    assert result.exit_code == 0
    printed = json.loads(result.stdout)
    assert printed == published_schema(version)
    jsonschema.Draft202012Validator.check_schema(printed)


def test_the_installed_command_reads_standard_input() -> None:
    assert installed("run", "-", text=json.dumps(program(value("x", "grün")))) == (0, '"grün"\n', "")
