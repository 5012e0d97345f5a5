"""Record the cassettes anew: from the loopback provider, or from the real ones.

`python -m tests.cassettes.record` records all of them from the loopback provider. With `--real`, the wires for which
a key is in the environment are recorded from their provider, except what no provider can be brought to do.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from tests.adapters import ADAPTERS, call
from tests.cassettes.scenarios import DIRECTORY, SCENARIOS, WIRES, Scenario, cassette_path, loopback_reply
from tests.cassettes.tape import scrub, tape
from treelang import ProviderResponseError, UsageAwareTransport
from treelang_conformance.outcome import Outcome
from treelang_conformance.provider.server import Provider

LOOPBACK = "loopback provider"

_REAL_TIMEOUT = 60.0  # seconds: a real model thinks
_WRONG_KEY = "sk-treelang-no-provider-knows-this-key"


class RecordingError(Exception):
    """What was to be recorded did not happen; the message is one line. No cassette was written."""


@dataclass(frozen=True, slots=True)
class RealProvider:
    """A provider that can be recorded.

    Attributes:
        url: Its address, without the path that a wire adds.
        key_variable: The environment variable that holds the key.
    """

    url: str
    key_variable: str


_OPENAI = RealProvider("https://api.openai.com", "OPENAI_API_KEY")

REAL_PROVIDERS: Mapping[str, RealProvider] = {
    "anthropic-messages": RealProvider("https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    "openai-chat": _OPENAI,
    "openai-responses": _OPENAI,
}


def main(arguments: Sequence[str], *, directory: Path = DIRECTORY) -> int:
    """Record, and return the exit code: 1 where something could not be recorded, 2 where nothing was to be."""
    parser = argparse.ArgumentParser(prog="python -m tests.cassettes.record", description=__doc__)
    parser.add_argument("--real", action="store_true", help="record from the real providers whose key is set")
    real = parser.parse_args(arguments).real
    wires = [wire for wire in WIRES if not real or os.environ.get(REAL_PROVIDERS[wire].key_variable)]
    if not wires:
        keys = " or ".join(sorted({provider.key_variable for provider in REAL_PROVIDERS.values()}))
        sys.stderr.write(f"Nothing to record from: set {keys}, or leave out --real.\n")
        return 2
    for wire in wires:
        for scenario in SCENARIOS:
            path = cassette_path(wire, scenario, directory)
            provider = REAL_PROVIDERS[wire] if real and scenario.provocable else None
            try:
                record(wire, scenario, path, provider)
            except RecordingError as error:
                sys.stderr.write(f"{wire}/{scenario.name}: {error}; no cassette was written\n")
                return 1
            sys.stdout.write(f"{wire}/{scenario.name} from the {'real' if provider else LOOPBACK}\n")
    return 0


def record(wire: str, scenario: Scenario, path: Path, provider: RealProvider | None = None) -> None:
    """Make the call of a scenario and write its cassette, from the loopback provider unless another one is given.

    Raises:
        RecordingError: The call did not end as the scenario says.
    """
    with tempfile.TemporaryDirectory() as scratch:
        recorded = Path(scratch) / path.name
        with tape(recorded, recording=True) as cassette:
            outcome = asyncio.run(_make_call(wire, scenario, provider))
            for key, value in _label(wire, outcome, provider).items():
                cassette.get_metadata(key, value)
        if type(outcome.error) is not (scenario.error or type(None)):
            raise RecordingError(str(outcome))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(recorded.read_text())


async def _make_call(wire: str, scenario: Scenario, provider: RealProvider | None) -> Outcome:
    async with _connected(wire, scenario, provider) as transport:
        return await call(transport, scenario.request(ADAPTERS[wire]), stream=scenario.stream)


@asynccontextmanager
async def _connected(
    wire: str, scenario: Scenario, provider: RealProvider | None
) -> AsyncIterator[UsageAwareTransport]:
    adapter = ADAPTERS[wire]
    if provider is not None:
        key = _WRONG_KEY if scenario.wrong_key else os.environ[provider.key_variable]
        async with adapter.connected(provider.url, api_key=key, client_timeout=_REAL_TIMEOUT) as transport:
            yield transport
    else:
        with Provider() as loopback:
            loopback.reply(loopback_reply(wire, scenario))
            async with adapter.connected(loopback.url) as transport:
                yield transport


def _label(wire: str, outcome: Outcome, provider: RealProvider | None) -> dict[str, Any]:
    """Where a cassette comes from, and how the call ended when it was recorded."""
    sdk = wire.partition("-")[0]
    return {
        "recorded_from": provider.url if provider else LOOPBACK,
        "recorded_on": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "recorded_with": {package: metadata.version(package) for package in (sdk, "vcrpy")},
        "ending": ending(outcome),
    }


def ending(outcome: Outcome) -> dict[str, Any]:
    """How a call ended, as values that a cassette can hold."""
    usage, error = outcome.usage, outcome.error
    assert usage is not None  # the adapters report usage
    told = {}
    if isinstance(error, ProviderResponseError):
        told = {"status_code": error.status_code, "retry_after": error.retry_after, "code": error.code}
    return {
        "text": scrub(outcome.text),
        "error": type(error).__name__ if error else None,
        **told,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
    }


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
