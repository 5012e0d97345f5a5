"""Replay recorded provider traffic through the adapters, over a loopback socket, and show where they disagree.

`python -m tests.traffic.replay PATH...` exits with 0 where every row agrees or its disagreement is known, with 1
where one does not, and with 2 where a file cannot be replayed.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from tests.adapters import ADAPTERS, Adapter, call
from tests.traffic.expectation import expectation
from tests.traffic.known import KNOWN_DISAGREEMENTS
from tests.traffic.rows import BrokenTrafficError, Row, read_rows
from treelang import ModelRequest, UsageAwareTransport
from treelang_conformance.provider.script import Reply, Send
from treelang_conformance.provider.server import Provider

_MOST_PIECES = 24
"""Pieces into which the body of a stream is cut: enough to meet every kind of boundary in a thousand rows."""

_FORMAT = {
    "type": "json_schema",
    "json_schema": {
        "name": "answer",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"answer": {"type": "string"}},
            "required": ["answer"],
            "additionalProperties": False,
        },
    },
}


@dataclass(slots=True)
class Tally:
    """What came of the rows, counted by api and kind.

    Attributes:
        agreed: Rows that ended as the contract says.
        known: Rows that did not, for a reason that is written down.
        left_out: Rows of an api for which there is no adapter.
        disagreements: Every other row, in one line each.
    """

    agreed: Counter[tuple[str, str]] = field(default_factory=Counter)
    known: Counter[tuple[str, str]] = field(default_factory=Counter)
    left_out: Counter[tuple[str, str]] = field(default_factory=Counter)
    disagreed: Counter[tuple[str, str]] = field(default_factory=Counter)
    disagreements: list[str] = field(default_factory=list)

    def add(self, row: Row, difference: str) -> None:
        """Count a row that was replayed."""
        key = (row.api, row.kind)
        reason = KNOWN_DISAGREEMENTS.get(row.id)
        if difference and reason:
            self.known[key] += 1
        elif difference:
            self.disagreed[key] += 1
            self.disagreements.append(f"{row.id} ({row.kind}): {difference}")
        elif reason:
            self.disagreed[key] += 1
            self.disagreements.append(f"{row.id} ({row.kind}): agrees; take it off the table of known disagreements")
        else:
            self.agreed[key] += 1


def main(arguments: Sequence[str]) -> int:
    """Replay the files that are named, and return the exit code."""
    try:
        rows = [row for argument in arguments for row in read_rows(Path(argument))]
        if not any(row.api in ADAPTERS for row in rows):
            raise BrokenTrafficError(f"Nothing to replay: name files with rows of {', '.join(ADAPTERS)}.")
    except BrokenTrafficError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    tally = asyncio.run(replay(rows))
    show(tally, Console())
    return 1 if tally.disagreements else 0


async def replay(rows: Iterable[Row]) -> Tally:
    """Replay every row for whose api there is an adapter, one after the other on one transport an adapter."""
    tally = Tally()
    by_api: dict[str, list[Row]] = {}
    for row in rows:
        by_api.setdefault(row.api, []).append(row)
    for api, recorded in sorted(by_api.items()):
        if api in ADAPTERS:
            await _replay_api(ADAPTERS[api], recorded, tally)
        else:
            tally.left_out.update((row.api, row.kind) for row in recorded)
    return tally


async def _replay_api(adapter: Adapter, rows: Sequence[Row], tally: Tally) -> None:
    progress = Console(stderr=True)
    with Provider() as provider:
        async with adapter.connected(provider.url) as transport:
            for row in track(rows, adapter.wire, console=progress, transient=True, disable=not progress.is_terminal):
                tally.add(row, await _difference(row, adapter, transport, provider))


async def _difference(row: Row, adapter: Adapter, transport: UsageAwareTransport, provider: Provider) -> str:
    before = len(provider.requests)
    provider.reply(_script(row))
    outcome = await call(transport, _request(row, adapter), stream=row.stream)
    return expectation(row).disagreement(outcome, len(provider.requests) - before)


def _request(row: Row, adapter: Adapter) -> ModelRequest:
    request = {"model": adapter.model, "messages": [{"role": "user", "content": "Which tree is the tallest?"}]}
    return {**request, "response_format": _FORMAT} if row.strict else request


def _script(row: Row) -> Reply:
    if not row.stream:
        return Reply.bytes(row.body, status=row.status, headers=row.headers)
    pieces = (Send(piece) for piece in _cut(row.body, seed=row.id))
    return Reply(status=row.status, headers=row.headers, body=tuple(pieces), framing="chunked")


def _cut(body: bytes, *, seed: str) -> list[bytes]:
    """Pieces of `body` that begin at odd places, the same ones for the same seed."""
    places = range(1, len(body))
    chance = random.Random(seed)  # noqa: S311  # reproducible, not secret
    cuts = [0, *sorted(chance.sample(places, min(len(places), _MOST_PIECES - 1))), len(body)]
    return [body[start:end] for start, end in itertools.pairwise(cuts) if start < end]


def show(tally: Tally, console: Console) -> None:
    """Print one table, by api and kind, and each disagreement in one line."""
    columns = (tally.agreed, tally.known, tally.disagreed, tally.left_out)
    table = Table("api", "kind", *("agreed", "known", "disagreed", "left out"))
    for key in sorted(set().union(*columns)):
        table.add_row(*key, *(str(column[key] or "") for column in columns))
    table.add_section()
    table.add_row("all", "", *(str(column.total()) for column in columns))
    console.print(table)
    for line in tally.disagreements:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if tally.known:
        console.print(f"Known disagreements: {tally.known.total()}; tests/traffic/README.md says why.")
    if tally.left_out:
        apis = ", ".join(sorted({api for api, _ in tally.left_out}))
        console.print(f"Rows left out: {tally.left_out.total()}, because there is no adapter yet for {apis}.")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
