"""The kit under pytest: what an adopter's test run looks like from outside, whatever plugins he has."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from treelang_conformance import TransportSuite

ROOT = Path(__file__).parents[2]

PLAIN = """
    from tests.conformance.support import plain
    from treelang_conformance import ExpectedFailure, TransportSuite
"""


NO_ASYNCIO_PLUGIN = "addopts = -p no:asyncio"


def adopters_run(folder: Path, test_module: str, *arguments: str, settings: str = NO_ASYNCIO_PLUGIN) -> tuple[int, str]:
    """Run pytest on a module in a process of its own; return its exit code and what it printed."""
    module = folder / "test_acme.py"
    module.write_text(textwrap.dedent(PLAIN) + textwrap.dedent(test_module), encoding="utf-8")
    (folder / "pytest.ini").write_text(f"[pytest]\nfilterwarnings = error\n{settings}\n")
    command = (
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        "--strict-markers",
        "-rA",
        *arguments,
        str(module),
    )
    ended = subprocess.run(  # our own command
        command, cwd=folder, env={"PYTHONPATH": str(ROOT), "PATH": ""}, capture_output=True, text=True, timeout=120
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_each_check_is_one_node_that_needs_no_asyncio_plugin(tmp_path: Path) -> None:
    code, output = adopters_run(
        tmp_path,
        """
        class TestAcme(TransportSuite, wire="openai-chat", select=["CMP-10"]):
            async def make_transport(self, endpoint):
                return plain.make(endpoint)
        """,
    )
    assert code == 0, output
    assert "TestAcme::test_wiring" in output
    assert "TestAcme::test_conformance[CMP-10/" in output
    assert "conformance of test_acme.py::TestAcme: " in output


def test_a_failure_teaches_without_a_traceback_of_the_kit(tmp_path: Path) -> None:
    code, output = adopters_run(
        tmp_path,
        """
        class Lossy(plain.PlainChatTransport):
            async def complete(self, request):
                return (await super().complete(request)).strip()

        class TestAcme(TransportSuite, wire="openai-chat", select=["CMP-1"]):
            def make_transport(self, endpoint):
                return Lossy(endpoint.url, endpoint.api_key, endpoint.timeout)
        """,
        "-k",
        "CMP-1",
    )
    assert code == 1, output
    assert "CMP-1 (MUST) `complete` returns a `str`" in output
    assert "exchange  > POST /v1/chat/completions" in output
    assert "treelang_conformance" not in output.partition("= FAILURES =")[2].partition("conformance of")[0]
    assert "not kept: CMP-1" in output


def test_a_miswired_subject_fails_once_and_the_rest_could_not_run(tmp_path: Path) -> None:
    code, output = adopters_run(
        tmp_path,
        """
        class TestAcme(TransportSuite, wire="openai-chat", select=["CMP-10"]):
            def make_transport(self, endpoint):
                raise ValueError("no such deployment")
        """,
    )
    assert code == 1
    assert output.count("the factory raised ValueError: no such deployment") == 1
    assert "1 failed" in output
    assert "could not run: the wiring check failed" in output


def test_a_miswired_subject_is_never_green_even_without_the_wiring_test(tmp_path: Path) -> None:
    code, output = adopters_run(
        tmp_path,
        """
        class TestAcme(TransportSuite, wire="openai-chat", select=["CMP-10"]):
            def make_transport(self, endpoint):
                raise ValueError("no such deployment")
        """,
        "-k",
        "CMP-10",
    )
    assert code == 1
    assert "the factory raised ValueError: no such deployment" in output


def test_expected_failures_are_tolerated_and_must_be_current(tmp_path: Path) -> None:
    code, output = adopters_run(
        tmp_path,
        """
        class Retrying(plain.PlainChatTransport):
            async def complete(self, request):
                try:
                    return await super().complete(request)
                except Exception:
                    return await super().complete(request)

        class TestAcme(TransportSuite, wire="openai-chat", select=["CMP-2", "CMP-3"]):
            expected_failures = {
                "CMP-2": ExpectedFailure("it retries", "#1"),
                "CMP-3": ExpectedFailure("it changed the request once", "#2"),
                "CMP-99": ExpectedFailure("a slip of the pen", "#3"),
            }
            def make_transport(self, endpoint):
                return Retrying(endpoint.url, endpoint.api_key, endpoint.timeout)
        """,
    )
    assert code == 1, output
    failures = output.partition("= FAILURES =")[2].partition("= PASSES =")[0]
    assert "expected failure CMP-3: it passes now; remove the entry (#2)" in failures
    assert "expected failure CMP-99: unknown check 'CMP-99'" in failures
    assert "CMP-2" not in failures
    assert "it retries (#1)" in output
    assert "1 failed" in output


def test_a_mistake_in_the_class_is_one_line_at_collection(tmp_path: Path) -> None:
    code, output = adopters_run(
        tmp_path,
        """
        class TestWire(TransportSuite, wire="opnai-chat"): pass
        class TestClause(TransportSuite, wire="openai-chat", select=["ERR8"]): pass
        class TestFeature(TransportSuite, wire="openai-chat", features={"usages"}): pass
        class TestNothing(TransportSuite): pass
        """,
    )
    assert code == 2, output
    for message in (
        "class TestWire: unknown wire 'opnai-chat'; did you mean openai-chat?",
        "class TestClause: unknown clause 'ERR8'; did you mean ERR-8?",
        "class TestFeature: unknown feature 'usages'; did you mean usage?",
        "class TestNothing: name the wire in the class line",
    ):
        assert message in output
    assert "Traceback" not in output


def test_an_unknown_keyword_in_the_class_line_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="class TestAcme: unknown keyword 'wires'; did you mean wire"):
        type("TestAcme", (TransportSuite,), {}, wires="openai-chat")


def test_suites_run_under_xdist(tmp_path: Path) -> None:
    code, output = adopters_run(
        tmp_path,
        """
        class TestAcme(TransportSuite, wire="openai-chat", select=["CMP-10"]):
            def make_transport(self, endpoint):
                return plain.make(endpoint)
        """,
        "-n2",
    )
    assert code == 0, output
    assert "conformance of test_acme.py::TestAcme: " in output


ASYNCIO = "asyncio_default_fixture_loop_scope = function"
PLUGINS = {
    "pytest-asyncio-strict": (f"asyncio_mode = strict\n{ASYNCIO}", "@pytest.mark.asyncio"),
    "pytest-asyncio-auto": (f"asyncio_mode = auto\n{ASYNCIO}", ""),
    "anyio": (NO_ASYNCIO_PLUGIN, "@pytest.mark.anyio"),
}


@pytest.mark.parametrize("processes", [0, 2])
@pytest.mark.parametrize(("settings", "mark"), PLUGINS.values(), ids=PLUGINS)
def test_suites_run_beside_plugins_for_asyncio(tmp_path: Path, settings: str, mark: str, processes: int) -> None:
    """The adopter's own asynchronous test shows that the plugin is at work, and a failure that checks still fail."""
    code, output = adopters_run(
        tmp_path,
        f"""
        import asyncio
        import pytest

        @pytest.fixture
        def anyio_backend():
            return "asyncio"

        {mark}
        async def test_own():
            await asyncio.sleep(0)

        class TestAcme(TransportSuite, wire="openai-chat", select=["CMP-2", "CMP-10", "STR-10", "CAN-8"]):
            async def make_transport(self, endpoint):
                await asyncio.sleep(0)
                return plain.make(endpoint)

            async def close_transport(self, transport):
                await transport.aclose()

        class Retrying(plain.PlainChatTransport):
            async def complete(self, request):
                try:
                    return await super().complete(request)
                except Exception:
                    return await super().complete(request)

        class TestRetrying(TransportSuite, wire="openai-chat", select=["CMP-2"]):
            def make_transport(self, endpoint):
                return Retrying(endpoint.url, endpoint.api_key, endpoint.timeout)
        """,
        f"-n{processes}",
        settings=settings,
    )
    assert code == 1, output
    assert "PASSED test_acme.py::test_own" in output
    failed = [line.split()[1] for line in output.splitlines() if line.startswith("FAILED ")]
    assert failed
    assert all(name.startswith("test_acme.py::TestRetrying::test_conformance[CMP-2/") for name in failed), failed
    assert "conformance of test_acme.py::TestAcme: " in output
    assert "conformance of test_acme.py::TestRetrying: " in output


def test_the_plugin_loads_nothing_heavy() -> None:
    script = (
        "import sys, treelang_conformance.plugin;"
        "heavy = {'openai', 'anthropic', 'httpx2', 'hypothesis', 'pydantic', 'h11', 'rich', 'typer'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ended = subprocess.run(  # our own command
        (sys.executable, "-c", script), capture_output=True, text=True, check=True, timeout=60
    )
    assert ended.stdout.strip() == "[]"
