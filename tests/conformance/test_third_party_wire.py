"""A wire from a package of its own, found by its entry point: the example of the guide, sound and broken."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "ndjson"
GUIDE = ROOT / "docs" / "guides" / "adding-a-wire.md"
TREELANG = Path(sys.executable).parent / "treelang"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The example as an installer would leave it: its modules, and the metadata that says what it offers."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    metadata = tmp_path / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines: list[str] = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in points.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    for module in EXAMPLE.glob("*.py"):
        shutil.copy(module, tmp_path)
    return tmp_path


def conformance(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run the kit in a process that has the example on its path; return the exit code and what was printed."""
    ended = subprocess.run(
        (str(TREELANG), "conformance", "run", "ndjson_transport:make", "--wire", "ndjson", *arguments),
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": os.defpath, "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=180,
    )
    return ended.returncode, ended.stdout + ended.stderr


def altered(module: Path, sound: str, broken: str) -> None:
    text = module.read_text()
    assert text.count(sound) == 1, f"the example no longer says {sound!r}"
    module.write_text(text.replace(sound, broken))


def test_the_example_is_conformant_and_what_its_wire_cannot_express_is_not_applicable(installed: Path) -> None:
    code, output = conformance(installed)
    assert code == 0, output
    assert "NDJSONTransport on ndjson: conformant" in output
    passed, failed, not_applicable = map(int, re.findall(r"^all +(\d+) +(\d+) +(\d+)", output, re.MULTILINE)[0])
    assert failed == 0
    assert passed > 400
    assert not_applicable > 0


def test_the_example_falls_back_by_the_table(installed: Path) -> None:
    code, output = conformance(installed, "--suite", "fallback")
    assert code == 0, output
    assert "NDJSONTransport on ndjson, suite fallback: conformant" in output


BROKEN = {
    "STR-5": (
        '        if not self.over:\n            raise self._errors.unusable("it ended before it was done")\n',
        "",
    ),
    "STR-3": ('.split(b"\\n")', '.replace(b"\\xe2\\x80\\xa8", b"\\n").split(b"\\n")'),
    "ERR-11": ('        if part.get("error"):\n            self._errors.raise_in_band(part)\n', ""),
    "FBK-2": ("strict=request.strict is not None, ", ""),
}
"""By the clause that it breaks: what is taken out of the transport, and what stands there instead."""


@pytest.mark.parametrize(("clause", "change"), BROKEN.items(), ids=BROKEN)
def test_a_broken_transport_fails_the_clause_that_it_breaks(
    installed: Path, clause: str, change: tuple[str, str]
) -> None:
    altered(installed / "ndjson_transport.py", *change)
    code, output = conformance(installed, "--select", f"{clause},CMP-2,CMP-3,CAP-1")
    assert code == 1, output
    assert f"NDJSONTransport on ndjson: not conformant: MUST clauses violated: {clause}\n" in output


def test_the_failure_that_the_guide_shows_is_the_one_that_comes(installed: Path) -> None:
    altered(installed / "ndjson_transport.py", *BROKEN["STR-5"])
    _, output = conformance(installed, "--select", "STR-5")
    [shown] = re.findall(r"```text\n(STR-5 .*?)```", GUIDE.read_text(), re.DOTALL)
    assert shown in output
