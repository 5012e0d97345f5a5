"""The code blocks of the documentation, and what their readers have that the pages do not show."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "README.md", ROOT / "conformance" / "README.md", *(ROOT / "docs").rglob("*.md"))
)

_BLOCK = re.compile(r"^```(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE_NAME = re.compile(r"# (\S+\.py)\n")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a page."""

    page: str
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        """Where the block is, for messages."""
        return f"{self.page}:{self.line}"

    @property
    def file_name(self) -> str | None:
        """The file that the block is, where its first line says so."""
        named = _FILE_NAME.match(self.text)
        return named[1] if named and self.language == "python" else None


def blocks(page: str) -> list[Block]:
    """All fenced blocks of a page, in order."""
    text = (ROOT / page).read_text("utf-8")
    return [Block(page, text.count("\n", 0, found.start()) + 1, found[1], found[2]) for found in _BLOCK.finditer(text)]


def having(*languages: str) -> list[str]:
    """The pages that have a block of one of these languages."""
    return [page for page in PAGES if any(block.language in languages for block in blocks(page))]


_FIRST_RUN = "test_docs: the first run of the kit"
_WIRE = "tests/conformance/test_third_party_wire.py"
ELSEWHERE: dict[tuple[str, str], str] = {
    ("README.md", "OpenAITransport"): "what `make conformance` ends with; `make check` compares it with the evidence",
    ("conformance/README.md", "treelang conformance run acme:make --wire openai-chat --select ERR-2"): _FIRST_RUN,
    ("conformance/README.md", "ERR-2 (MUST)"): _FIRST_RUN,
    ("conformance/README.md", "from treelang import ErrorTranslator"): _FIRST_RUN,
    (
        "conformance/README.md",
        "happened  with the example",
    ): "a line of what tests/conformance/test_properties.py judges",
    ("docs/guides/adding-a-wire.md", "cd docs/examples/ndjson"): _WIRE,
    ("docs/guides/adding-a-wire.md", "STR-5 (MUST)"): _WIRE,
    ("docs/guides/adding-a-wire.md", '{"text":"A redwood."'): _WIRE,
}
"""Blocks that something else looks at, by page and beginning, and what does."""


def begins(block: Block) -> tuple[str, str] | None:
    """The key of `ELSEWHERE` that a block has."""
    text = block.text.strip()
    return next((key for key in ELSEWHERE if key[0] == block.page and text.startswith(key[1])), None)


def find(page: str, beginning: str) -> Block:
    """The block of a page that begins with a text."""
    return next(block for block in blocks(page) if block.text.strip().startswith(beginning))


def _enough(_: str) -> bool:
    return True


def given(page: str) -> dict[str, Any]:
    """The names that a page's fragments take from the reader's own program."""
    if page == "docs/guides/openai.md":
        from treelang import RetryingTransport

        request = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "Which tree is the tallest?"}]}
        return {"RetryingTransport": RetryingTransport, "request": request, "requests": [request], "enough": _enough}
    return {}


async def close(page: str, names: Mapping[str, Any]) -> None:
    """Close what a page's fragments, which are parts of a program, leave open."""
    if page == "docs/guides/openai.md":
        await names["transport"]._inner.aclose()


def files(page: str) -> dict[str, str]:
    """The files that a page's blocks need in the reader's folder: those that blocks are, and the reader's own."""
    found = blocks(page)
    shown = {block.file_name: block.text for block in found if block.file_name is not None}
    match page:
        case "README.md":
            return {"acme/__init__.py": "from treelang import OpenAITransport as AcmeTransport\n"} | shown
        case "docs/formats.md":
            functions = next(block.text for block in found if block.language == "python")
            program = next(block.text for block in found if block.language == "json")
            return {"weather.py": functions.partition("tools = ")[0], "weather.json": program}
        case "docs/guides/tutorial.md":
            functions = next(block.text for block in found if block.language == "python")
            return {"cities.py": functions.partition("tools = ")[0]}
    return shown
