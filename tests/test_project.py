"""The distribution, the locked requirement files and the README's commands are what they say."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PACKAGES = [ROOT / "treelang", ROOT / "conformance" / "treelang_conformance", ROOT / "matrix" / "treelang_matrix"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCKED = ["dev", "oldest"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [path] = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_holds_every_file_of_the_three_packages_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    sources = {
        path.relative_to(package.parent).as_posix()
        for package in PACKAGES
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}

    assert packed == sources
    assert packed > {
        "treelang/py.typed",
        "treelang_conformance/py.typed",
        "treelang_conformance/contract/clauses.toml",
        "treelang_conformance/report.schema.json",
        "treelang_matrix/manifest.schema.json",
        "treelang_matrix/py.typed",
        "treelang_matrix/templates/provider-matrix.md.jinja",
    }


def test_the_wheel_brings_its_licence_its_extras_and_its_commands(wheel: zipfile.ZipFile) -> None:
    [folder] = {name.partition("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
    metadata = HeaderParser().parsestr(wheel.read(f"{folder}/METADATA").decode())

    assert wheel.read(f"{folder}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
    assert metadata["License-Expression"] == "MIT"
    assert set(metadata.get_all("Provides-Extra", [])) == set(PROJECT["optional-dependencies"])
    assert "treelang = treelang.cli:main" in wheel.read(f"{folder}/entry_points.txt").decode()


def locked_versions(name: str) -> dict[str, str]:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    return dict(re.findall(r"^([a-z0-9-]+)==([^ ;\\]+)", text, re.MULTILINE))


@pytest.mark.parametrize("name", LOCKED)
def test_every_locked_requirement_has_a_hash_and_none_an_address(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    entries = text.replace("\\\n", "").splitlines()

    assert entries
    for entry in entries:
        assert re.fullmatch(r"[a-z0-9-]+==\S+( ; [^\\#]+?)?( +--hash=sha256:[0-9a-f]{64})+", entry), entry
    assert "//" not in text


@pytest.mark.parametrize("name", LOCKED)
def test_what_is_locked_is_what_the_project_asks_for(name: str) -> None:
    versions = locked_versions(name)
    extras = PROJECT["optional-dependencies"]
    asked = [*PROJECT["dependencies"], *(entry for extra in extras.values() for entry in extra)]
    requirements = [Requirement(entry) for entry in asked if not entry.startswith("treelang[")]

    for requirement in requirements:
        version = versions[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{requirement} is locked as {version}; run: make lock"


def test_the_oldest_lock_holds_the_lower_ends_of_the_supported_ranges() -> None:
    versions = locked_versions("oldest")
    extras = PROJECT["optional-dependencies"]

    for requirement in map(Requirement, [*PROJECT["dependencies"], *extras["openai"], *extras["anthropic"]]):
        [lowest] = [s.version for s in requirement.specifier if s.operator == ">="]
        assert Version(versions[requirement.name]) == Version(lowest)


def test_the_newest_lock_holds_the_newest_supported_major_of_each_sdk() -> None:
    versions = locked_versions("dev")
    extras = PROJECT["optional-dependencies"]

    for sdk in ("openai", "anthropic"):
        [requirement] = [one for one in map(Requirement, extras[sdk]) if one.name == sdk]
        [beyond] = [s.version for s in requirement.specifier if s.operator == "<"]
        assert int(versions[requirement.name].partition(".")[0]) == int(beyond) - 1


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "docs/README.md", "conformance/README.md"])
def test_every_make_command_of_a_document_exists(document: str) -> None:
    text = (ROOT / document).read_text()
    named = set(re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE))

    assert named <= make_targets()


def test_make_help_explains_every_target_that_is_meant_for_people() -> None:
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony

    shown = subprocess.run(["make", "help"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert set(re.findall(r"^  make ([a-z]+) +\S", shown, re.MULTILINE)) == set(phony[1].split()) - {"generated"}


def links() -> list[tuple[str, str]]:
    documents = {*ROOT.glob("*.md"), *ROOT.glob("*/README.md"), *(ROOT / "docs").rglob("*.md")}
    return sorted(
        {
            (document.relative_to(ROOT).as_posix(), target)
            for document in documents
            for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text())
        }
    )


@pytest.mark.parametrize(("document", "target"), links())
def test_every_link_inside_the_project_leads_somewhere(document: str, target: str) -> None:
    assert (ROOT / document).parent.joinpath(target).exists()


def test_importing_treelang_loads_neither_an_sdk_nor_what_tests_need() -> None:
    unwanted = {
        *("openai", "anthropic", "httpx", "httpx2", "jsonschema", "pytest", "h11", "jinja2", "rich", "typer"),
        *("treelang_conformance", "treelang_matrix"),
    }
    program = "import sys, treelang; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()

    assert "treelang" in loaded
    assert not unwanted.intersection(loaded)
