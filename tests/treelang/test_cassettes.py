"""The cassettes are replayed without a network, and hold nothing that must not be public.

A cassette says what a provider once sent, byte for byte; so this is where a change of an adapter, or of an SDK, that
reads the same bytes otherwise comes to light. It cannot tell how chunks arrive: vcrpy replays a body in one piece.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import gzip
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.adapters import ADAPTERS, call
from tests.cassettes.record import (
    LOOPBACK,
    REAL_PROVIDERS,
    RealProvider,
    RecordingError,
    ending,
    main,
    record,
)
from tests.cassettes.scenarios import DIRECTORY, SCENARIOS, WIRES, Scenario, cassette_path
from tests.cassettes.tape import KEPT_REQUEST_HEADERS, KEPT_RESPONSE_HEADERS, SECRET_SHAPES, tape
from treelang import ModelConnectionError, ModelRateLimitError
from treelang_conformance import canaries
from treelang_conformance.outcome import Outcome
from treelang_conformance.provider.script import Reply
from treelang_conformance.provider.server import Provider

EVERY = [pytest.param(wire, scenario, id=f"{wire}/{scenario.name}") for wire in WIRES for scenario in SCENARIOS]
PATHS = sorted(DIRECTORY.rglob("*.yaml"))


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The connections that were attempted, and refused: SDKs wrap what is raised, so a list must tell."""
    attempts: list[str] = []

    def refusing(name: str) -> Callable[..., None]:
        def refuse(*_: Any, **__: Any) -> None:
            attempts.append(name)
            raise OSError("no network in this test")

        return refuse

    for owner, name in ((socket.socket, "connect"), (socket.socket, "connect_ex"), (socket, "getaddrinfo")):
        monkeypatch.setattr(owner, name, refusing(name))
    return attempts


def replay(wire: str, scenario: Scenario, path: Path, **changes: Any) -> tuple[Outcome, Any]:
    """Make the call of a scenario on its cassette; return how it ended, and the cassette."""
    adapter = ADAPTERS[wire]

    async def make_call() -> Outcome:
        async with adapter.connected("https://provider.invalid") as transport:
            return await call(transport, {**scenario.request(adapter), **changes}, stream=scenario.stream)

    with tape(path) as cassette:
        return asyncio.run(make_call()), cassette


def label(path: Path) -> dict[str, Any]:
    metadata: dict[str, Any] = yaml.safe_load(path.read_text())["metadata"]
    return metadata


def problems(path: Path) -> list[str]:
    """What must not be on a cassette, in words that do not repeat it."""
    text = path.read_text()
    found = [name for name, shape in SECRET_SHAPES.items() if shape.search(text)]
    for interaction in yaml.safe_load(text)["interactions"]:
        request, response = interaction["request"], interaction["response"]
        found += [f"the header {name}" for name in request["headers"].keys() - KEPT_REQUEST_HEADERS]
        found += [f"the header {name}" for name in response["headers"].keys() - KEPT_RESPONSE_HEADERS]
        if not isinstance(request["body"], str) or not isinstance(response["body"]["string"], str):
            found.append("a body that is no text")
    return found


@pytest.mark.parametrize(("wire", "scenario"), EVERY)
def test_a_cassette_is_replayed_to_the_ending_it_was_recorded_with(
    wire: str, scenario: Scenario, connections: list[str]
) -> None:
    path = cassette_path(wire, scenario)
    outcome, cassette = replay(wire, scenario, path)
    assert type(outcome.error) is (scenario.error or type(None)), outcome
    assert ending(outcome) == label(path)["ending"]
    assert (cassette.play_count, cassette.all_played) == (1, True)
    if label(path)["recorded_from"] == LOOPBACK:
        assert outcome.text == scenario.text
    assert connections == []


@pytest.mark.parametrize("change", [{"temperature": 0.5}, {"messages": [{"role": "user", "content": "Another?"}]}])
@pytest.mark.parametrize("wire", WIRES)
def test_another_request_is_not_answered_from_a_cassette(
    wire: str, change: dict[str, Any], connections: list[str]
) -> None:
    scenario = SCENARIOS[0]
    outcome, cassette = replay(wire, scenario, cassette_path(wire, scenario), **change)
    assert "CannotOverwriteExistingCassetteException" in names_of_causes(outcome.error)
    assert cassette.play_count == 0
    assert connections == []


@pytest.mark.parametrize("wire", WIRES)
def test_a_call_without_a_cassette_would_be_seen_to_use_the_network(wire: str, connections: list[str]) -> None:
    adapter = ADAPTERS[wire]

    async def make_call() -> Outcome:
        async with adapter.connected("http://127.0.0.1:9") as transport:
            return await call(transport, SCENARIOS[0].request(adapter), stream=False)

    outcome = asyncio.run(make_call())
    assert type(outcome.error) is ModelConnectionError
    assert connections == ["connect"]


def names_of_causes(error: BaseException | None) -> list[str]:
    names = []
    while error is not None:
        names.append(type(error).__name__)
        error = error.__cause__ or error.__context__
    return names


def test_every_scenario_has_its_cassette_and_every_cassette_its_scenario() -> None:
    assert sorted(cassette_path(wire, scenario) for wire in WIRES for scenario in SCENARIOS) == PATHS


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_cassette_says_where_it_comes_from(path: Path) -> None:
    told = label(path)
    assert told["recorded_from"] in {LOOPBACK, REAL_PROVIDERS[path.parent.name].url}
    assert datetime.date.fromisoformat(told["recorded_on"]) <= datetime.datetime.now(datetime.UTC).date()
    assert told["recorded_with"].keys() == {path.parent.name.partition("-")[0], "vcrpy"}


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_cassette_holds_nothing_private(path: Path) -> None:
    assert problems(path) == []


PLANTED = {
    "an API key": "sk-abcdef0123456789",
    "a bearer token": "Bearer eyJhbGciOi.J9",
    "a credential's header": "x-api-key: abc",
    "an organization, a project or an account": "org-a1B2c3D4e5",
    "an e-mail address": "jane.doe@example.com",
}


def test_every_secret_shape_is_tried() -> None:
    assert PLANTED.keys() == SECRET_SHAPES.keys()


@pytest.mark.parametrize(("name", "secret"), PLANTED.items(), ids=PLANTED)
def test_a_planted_secret_is_found(name: str, secret: str, tmp_path: Path) -> None:
    text = PATHS[0].read_text()
    path = tmp_path / "planted.yaml"
    path.write_text(text.replace("tallest", secret, 1))
    assert problems(path) == [name]


def test_a_header_that_is_not_on_the_list_is_found(tmp_path: Path) -> None:
    path = tmp_path / "planted.yaml"
    path.write_text(PATHS[0].read_text().replace("headers:\n", "headers:\n      x-trace: [abc]\n", 1))
    assert problems(path) == ["the header x-trace"]


def test_a_compressed_body_is_found(tmp_path: Path) -> None:
    path = tmp_path / "planted.yaml"
    cassette = yaml.safe_load(PATHS[0].read_text())
    cassette["interactions"][0]["response"]["body"]["string"] = b"\x1f\x8b\x08"
    path.write_text(yaml.safe_dump(cassette))
    assert problems(path) == ["a body that is no text"]


def test_the_command_records_every_cassette_and_scrubs_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], directory=tmp_path) == 0
    recorded = sorted(tmp_path.rglob("*.yaml"))
    assert [path.relative_to(tmp_path) for path in recorded] == [path.relative_to(DIRECTORY) for path in PATHS]
    assert [problem for path in recorded for problem in problems(path)] == []
    assert not any(canaries.API_KEY in path.read_text() for path in recorded)
    assert len(capsys.readouterr().out.splitlines()) == len(recorded)


def test_without_a_key_nothing_is_recorded_from_real_providers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for provider in REAL_PROVIDERS.values():
        monkeypatch.delenv(provider.key_variable, raising=False)
    assert main(["--real"], directory=tmp_path) == 2
    assert capsys.readouterr().err == (
        "Nothing to record from: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or leave out --real.\n"
    )
    assert list(tmp_path.iterdir()) == []


USERS_KEY = "sk-users-own-0123456789"


def test_what_a_real_provider_echoes_or_compresses_is_kept_readable_and_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loopback provider stands in for the real one, with the user's key and a gateway's compression."""
    monkeypatch.setenv("ACME_KEY", USERS_KEY)
    path, scenario = tmp_path / "completion.yaml", SCENARIOS[0]
    body = json.dumps(
        {
            "choices": [{"message": {"content": f"Your key is {USERS_KEY}."}, "finish_reason": "stop"}],
            "organization": "org-a1B2c3D4e5",
        }
    )
    headers = {"content-type": "application/json", "content-encoding": "gzip", "openai-organization": "org-a1B2c3D4e5"}
    with Provider() as provider:
        provider.reply(Reply.bytes(gzip.compress(body.encode()), headers=headers))
        record("openai-chat", scenario, path, RealProvider(provider.url, "ACME_KEY"))
        (request,) = provider.requests
        assert request.headers["authorization"] == f"Bearer {USERS_KEY}"
        assert label(path)["recorded_from"] == provider.url
    assert problems(path) == []
    outcome, _ = replay("openai-chat", scenario, path)
    assert outcome.text == "Your key is [scrubbed]."


def test_a_call_that_ends_otherwise_leaves_no_cassette(tmp_path: Path) -> None:
    path = tmp_path / "completion.yaml"
    scenario = dataclasses.replace(SCENARIOS[0], error=ModelRateLimitError)
    with pytest.raises(RecordingError, match="the call ended normally"):
        record("openai-chat", scenario, path)
    assert not path.exists()
