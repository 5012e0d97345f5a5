"""`treelang ask`: the whole way from the shell to an answer, with the provider on a loopback socket."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from tests.adapters import ADAPTERS
from tests.treelang.arborist.models import call_program, value_program
from treelang.cli.application import build
from treelang_conformance.neutral import Answer, Failure
from treelang_conformance.provider.server import Provider
from treelang_conformance.wires.discovery import find_wire

TOOLS = '''
from os.path import join  # not its own, and so no tool

async def shout(text: str) -> str:
    """The text in capitals."""
    return text.upper()

def fail() -> None:
    """Fails."""
    raise LookupError("with a secret")

def _hidden() -> None: ...

few = [shout]
nothing = None
'''

CHAT = find_wire("openai-chat")


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as one:
        yield one


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: it holds the module of tools, and no key is set."""
    (tmp_path / "forest.py").write_text(TOOLS)
    (tmp_path / "broken.py").write_text("raise ValueError")
    (tmp_path / "needy.py").write_text("import no_such_module")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("forest", "broken", "needy"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "TREELANG_MODEL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(build(), ["ask", *arguments])


def at(provider: Provider, wire: str = "openai-chat") -> list[str]:
    adapter = ADAPTERS[wire]
    return ["--model", adapter.model, "--wire", wire, "--base-url", provider.url + adapter.base_path]


@pytest.mark.parametrize("wire", ADAPTERS)
def test_a_question_is_answered_on_standard_output(
    provider: Provider, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-mine")
    provider.reply(find_wire(wire).completion(Answer.of(call_program("shout", "grün"))))

    result = ask("What is it?", "--tools", "forest", *at(provider, wire), "--verbose")

    assert (result.exit_code, result.stdout, result.stderr) == (0, '"GRÜN"\n', "1 request, 11 + 7 tokens\n")
    [request] = provider.requests
    assert "sk-mine" in request.headers.get("authorization", "") + request.headers.get("x-api-key", "")


def test_a_server_of_ones_own_needs_no_key_and_the_model_may_stand_in_the_environment(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREELANG_MODEL", "acme-7b")
    provider.reply(CHAT.completion(Answer.of(value_program({"a": [1]}))))

    result = ask("--base-url", provider.url + CHAT.base_path, "What is it?")

    assert (result.exit_code, json.loads(result.stdout)) == (0, {"a": [1]})
    assert CHAT.read(provider.requests[0]).model == "acme-7b"


def test_a_tree_is_shown_and_not_run(provider: Provider) -> None:
    program = call_program("fail")
    provider.reply(CHAT.completion(Answer.of(program)))

    result = ask("What is it?", "--tools", "forest", "--tree", *at(provider))

    assert (result.exit_code, json.loads(result.stdout)) == (0, json.loads(program) | {"schema_version": "1.0"})


def test_only_the_public_functions_that_a_module_defines_are_tools(provider: Provider) -> None:
    provider.reply(CHAT.completion(Answer.of(value_program(1))), CHAT.completion(Answer.of(value_program(1))))

    ask("What is it?", "--tools", "forest", *at(provider))
    ask("What is it?", "--tools", "forest:few", *at(provider))

    for request, names in zip(provider.requests, (["shout", "fail"], ["shout"]), strict=True):
        text = CHAT.read(request).system[0].split("# The tools")[1]
        assert [json.loads(line)["name"] for line in text.splitlines() if line.startswith("{")] == names


def test_strict_output_that_was_rejected_is_told(provider: Provider) -> None:
    provider.reply(CHAT.error(next(iter(CHAT.rejections().values()))), CHAT.completion(Answer.of(value_program(1))))

    result = ask("What is it?", *at(provider), "--verbose")

    assert result.stderr == "2 requests, strict output was rejected, 11 + 7 tokens\n"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (CHAT.error(Failure(401)), "ModelAuthenticationError: "),
        (
            CHAT.completion(Answer.of(call_program("fail"))),
            "ToolExecutionError: the tool 'fail' failed with LookupError",
        ),
    ],
)
def test_what_fails_is_told_in_one_line_with_status_1(provider: Provider, answer: object, message: str) -> None:
    provider.reply(answer)  # type: ignore[arg-type]  # a table of replies

    result = ask("What is it?", "--tools", "forest", *at(provider))

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"treelang ask: {message}")
    assert result.stderr.count("\n") == 1
    assert "secret" not in result.stderr


def test_a_result_that_is_no_json_value_is_told(provider: Provider) -> None:
    function = {"type": "function", "name": "shout", "params": [{"type": "value", "name": "text", "value": None}]}
    program = {"type": "program", "mode": "single", "body": [{"type": "lambda", "params": ["text"], "body": function}]}
    provider.reply(CHAT.completion(Answer.of(json.dumps(program))))

    result = ask("What is it?", "--tools", "forest", *at(provider))

    assert (result.exit_code, result.stdout) == (1, "")
    assert "the program's result is a lambda" in result.stderr


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("meadow", "no module named 'meadow'; run this from the folder that holds it"),
        ("needy", "no module named 'no_such_module'; install what the module imports"),
        ("broken", "importing it raised ValueError"),
        ("forest:nothing", "name a function, a list of functions or a ToolProvider, and not 'nothing'"),
        ("forest:meadow", "name a function, a list of functions or a ToolProvider, and not 'meadow'"),
        ("forest:TOOLS", "name a function, a list of functions or a ToolProvider, and not 'TOOLS'"),
    ],
)
def test_tools_that_are_not_there_are_told_with_status_2(provider: Provider, source: str, message: str) -> None:
    result = ask("What is it?", "--tools", source, *at(provider))

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"treelang ask: tools {source!r}: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


@pytest.mark.parametrize("wire", ADAPTERS)
def test_without_a_key_nothing_is_asked(wire: str) -> None:
    result = ask("What is it?", "--model", "m", "--wire", wire)

    variable = "ANTHROPIC_API_KEY" if wire == "anthropic-messages" else "OPENAI_API_KEY"
    assert result.exit_code == 2
    assert result.stderr == f"treelang ask: no key: set {variable}, or name a compatible server by --base-url\n"


def test_without_a_model_the_option_is_named() -> None:
    result = ask("What is it?")
    assert result.exit_code == 2
    assert "--model" in result.stderr


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--model", "", "model must name a model"),
        ("--timeout", "nan", "timeout must be a non-negative number, or None"),
    ],
)
def test_a_setting_out_of_range_is_named(provider: Provider, option: str, value: str, message: str) -> None:
    result = ask("What is it?", *at(provider), option, value)
    assert (result.exit_code, result.stderr) == (2, f"treelang ask: {message}\n")


def test_a_server_of_tools_that_cannot_be_reached_is_told_with_status_2(provider: Provider) -> None:
    result = ask("What is it?", *at(provider), "--mcp", "no-such-command-anywhere")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("treelang ask: ")
    assert provider.requests == ()
