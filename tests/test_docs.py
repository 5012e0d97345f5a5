"""Every code block of the README and the documentation runs, and does what the page says.

The blocks of a page run in order and share their names, as a reader would type them. A `text` block after one of Python
is what has been printed until there. Models are played by the kit's provider on a loopback socket.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from tests.documents import ELSEWHERE, PAGES, ROOT, Block, begins, blocks, close, files, find, given, having
from tests.treelang.arborist.models import value_program
from treelang import AST
from treelang_conformance.neutral import Answer
from treelang_conformance.provider.record import RecordedRequest
from treelang_conformance.provider.script import Reply, Send
from treelang_conformance.provider.server import Provider
from treelang_conformance.wires.discovery import find_wire

TREELANG = Path(sys.executable).parent / "treelang"
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
WIRES = {
    "/v1/chat/completions": find_wire("openai-chat"),
    "/v1/responses": find_wire("openai-responses"),
    "/v1/messages": find_wire("anthropic-messages"),
}


def answer(received: RecordedRequest) -> Reply:
    """What a model answers: a program where it is asked for one, and words otherwise."""
    wire = WIRES[received.path]
    request = wire.read(received)
    texts = [*request.system, *(turn.text for turn in request.turns)]
    asks_for_program = any(text.startswith("You write programs.") for text in texts)
    said = Answer.of(value_program(12904000) if asks_for_program else "A redwood.")
    if not request.stream:
        return wire.completion(said)
    return Reply.event_stream(*(Send(event.data) for event in wire.events(said)))


@pytest.fixture
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to work in, and environment variables that lead every SDK to a provider on this machine."""
    with Provider() as provider:
        provider.answer_by(answer)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-docs")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-docs")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(tmp_path)
        before = set(sys.modules)
        yield tmp_path
        for name in set(sys.modules) - before:
            if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]


def write_files(page: str, folder: Path) -> None:
    for name, text in files(page).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def run_python(block: Block, namespace: dict[str, Any], runner: asyncio.Runner) -> None:
    """Run a block as the interactive `python -m asyncio` would: `await` may stand outside of functions."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code = compile("\n" * block.line + block.text, block.page, "exec", flags=flags, dont_inherit=True)
    if code.co_flags & inspect.CO_COROUTINE:
        runner.run(eval(code, namespace))  # noqa: S307  # it is the documentation's own code
    else:
        exec(code, namespace)  # noqa: S102  # as above


@pytest.mark.parametrize("page", having("python"))
def test_python_runs_and_prints_what_the_page_shows(page: str, surroundings: Path) -> None:
    write_files(page, surroundings)
    namespace: dict[str, Any] = {"__name__": "documentation", **given(page)}
    printed = io.StringIO()
    with asyncio.Runner() as runner, contextlib.redirect_stdout(printed):
        previous = None
        for block in blocks(page):
            if begins(block):
                continue
            if block.language == "python":
                run_python(block, namespace, runner)
            elif block.language == "text" and previous == "python":
                assert printed.getvalue() == block.text, block.place
            previous = block.language
            if previous != "python":
                printed.seek(0)
                printed.truncate()
        runner.run(close(page, namespace))


def run_command(words: list[str], folder: Path) -> None:
    match words:
        case ["make", target]:
            assert target in TARGETS
        case ["pip", "install", *packages]:
            for package in packages:
                requirement = Requirement(package)
                assert requirement.name != "treelang" or requirement.extras <= set(EXTRAS)
        case ["treelang", *arguments]:
            if arguments[:2] == ["conformance", "run"] and not {"--select", "--suite"} & set(arguments):
                arguments += ["--select", "ERR-2"]  # the whole contract takes a minute
            ended = subprocess.run(
                (str(TREELANG), *arguments), cwd=folder, capture_output=True, text=True, timeout=120, env=os.environ
            )
            # The kit finds what is wrong with a page's first transport, and says so with status 1.
            expected = {0, 1} if "--wire" in arguments else {0}
            assert ended.returncode in expected, ended.stdout + ended.stderr
        case _:
            raise AssertionError(f"no test knows the command {words[0]!r}")


@pytest.mark.parametrize("page", having("sh"))
def test_shell_commands_do_what_they_say(page: str, surroundings: Path) -> None:
    write_files(page, surroundings)
    for block in blocks(page):
        if block.language == "sh" and not begins(block):
            for line in block.text.splitlines():
                if words := shlex.split(line, comments=True):
                    run_command(words, surroundings)


@pytest.mark.parametrize("page", having("json", "toml"))
def test_data_can_be_read_and_programs_are_valid(page: str) -> None:
    for block in blocks(page):
        if block.language == "toml":
            assert tomllib.loads(block.text), block.place
        elif block.language == "json":
            value = json.loads(block.text)
            if isinstance(value, dict) and value.get("type") == "program":
                AST.parse(value)


def test_the_first_run_of_the_kit_fails_as_shown_and_its_mend_helps(surroundings: Path) -> None:
    page = "conformance/README.md"
    first, mended = find(page, "# acme.py"), find(page, "from treelang import ErrorTranslator")
    command, shown = find(page, "treelang conformance run acme:make").text, find(page, "ERR-2 (MUST)").text
    module = surroundings / "acme.py"
    run = {"cwd": surroundings, "capture_output": True, "text": True, "timeout": 120}
    words = [str(TREELANG), *shlex.split(command)[1:]]

    module.write_text(first.text)
    failing = subprocess.run(words, env=os.environ | {"COLUMNS": "120"}, **run)  # type: ignore[call-overload]  # one dict
    imports, _, method = mended.text.partition("\n\n")
    begin, end = (first.text.index(f"    async def {name}") for name in ("complete", "stream"))
    module.write_text(f"{imports}\n{first.text[:begin]}{method}\n{first.text[end:]}")
    passing = subprocess.run(words, env=os.environ, **run)  # type: ignore[call-overload]  # as above

    assert failing.returncode == 1
    assert " ".join(shown.split()) in " ".join(failing.stdout.split())
    assert "[complete]" in failing.stdout
    assert "[complete]" not in passing.stdout, "the mend of the page's first method does not help"


def test_every_block_is_of_a_kind_that_is_tested() -> None:
    for page in PAGES:
        previous = None
        for block in blocks(page):
            tested = block.language in {"python", "sh", "json", "toml"} or (block.language, previous) == (
                "text",
                "python",
            )
            assert tested or begins(block), f"no test looks at the block {block.place}"
            previous = block.language


def test_what_is_said_to_be_tested_elsewhere_is_there() -> None:
    assert {begins(block) for page in PAGES for block in blocks(page)} - {None} == set(ELSEWHERE)
