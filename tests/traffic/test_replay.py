"""The replay tool must see every kind of disagreement: a comparison that cannot fail would approve anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.traffic.known import KNOWN_DISAGREEMENTS
from tests.traffic.replay import main

SAID = "A coast redwood."


def completion(**changes: Any) -> dict[str, Any]:
    body = {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": SAID}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7},
    }
    return body | changes


def row(body: Any, *, status: int = 200, stream: bool = False, request: Any = None, **expected: Any) -> dict[str, Any]:
    found = {"kind": "text", "text": SAID, "prompt_tokens": 11, "completion_tokens": 7}
    return {
        "id": "oc-1",
        "api": "openai-chat",
        "stream": stream,
        "request": {"body": request},
        "response": {
            "status": status,
            "headers": {"content-type": "text/event-stream" if stream else "application/json"},
            "body": body if isinstance(body, str) else json.dumps(body),
        },
        "expected": found | expected,
    }


def failing(status: int, message: str, **options: Any) -> dict[str, Any]:
    reported = {"message": message, "type": "invalid_request_error", "code": None}
    nothing: dict[str, Any] = {"kind": "error", "text": None, "prompt_tokens": None, "completion_tokens": None}
    return row({"error": reported}, status=status, error=reported, **nothing, **options)


def event_stream(*, finish: str | None) -> str:
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in ("A coast", " redwood.")
    ]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": completion()["usage"]})
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"


STRICT = {"response_format": {"type": "json_schema", "json_schema": {}}}
REJECTION = "Invalid schema for response_format 'answer': In context=(), 'required' is required to be supplied."

AGREEING = {
    "text": row(completion()),
    "stream": row(event_stream(finish="stop"), stream=True),
    "stream-without-end": row(event_stream(finish=None), stream=True, kind="incomplete"),
    "usage-missing": row(completion(usage=None), prompt_tokens=None, completion_tokens=None),
    "unauthorised": failing(401, "no"),
    "rate-limit": failing(429, "no"),
    "rejection-of-a-strict-request": failing(400, REJECTION, request=STRICT),
    "rejection-of-another-request": failing(400, REJECTION),
    "bad-strict-request": failing(400, "no", request=STRICT),
}

DISAGREEING = {
    "text": (row(completion(), text="An oak."), "expected the text 'An oak.', got 'A coast redwood.'"),
    "chunks": (
        row(event_stream(finish=None), stream=True, kind="incomplete", text="A coast"),
        "expected the text 'A coast', got 'A coast redwood.'",
    ),
    "normal-end": (
        row(completion(), kind="refusal"),
        "expected ProviderResponseError, got the text 'A coast redwood.'",
    ),
    "usage": (row(completion(), prompt_tokens=12), "expected ModelUsage(prompt_tokens=12, completion_tokens=7"),
    "usage-not-reported": (
        row(completion(usage=None), prompt_tokens=0, completion_tokens=0),
        "expected usage with reported=True",
    ),
    "class": (
        failing(500, "no") | {"expected": failing(500, "no")["expected"] | {"kind": "refusal"}},
        "expected ProviderResponseError, got treelang.errors.ModelTransportError",
    ),
    "error": (row("<html>"), "expected the text 'A coast redwood.', got treelang.errors.ProviderResponseError"),
}


def written(tmp_path: Path, *rows: Any) -> str:
    path = tmp_path / "traffic.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    return str(path)


@pytest.mark.parametrize("agreeing", AGREEING.values(), ids=AGREEING)
def test_a_row_that_ends_as_the_contract_says_agrees(
    agreeing: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([written(tmp_path, agreeing)]) == 0
    assert "oc-1" not in capsys.readouterr().out


@pytest.mark.parametrize(("disagreeing", "told"), DISAGREEING.values(), ids=DISAGREEING)
def test_a_disagreement_fails_the_run_and_is_told_in_one_line(
    disagreeing: Any, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([written(tmp_path, disagreeing)]) == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("oc-1 (")]
    assert told in line


def test_a_known_disagreement_passes_until_it_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = next(iter(KNOWN_DISAGREEMENTS))
    disagreeing = row(event_stream(finish=None), stream=True) | {"id": known}
    assert main([written(tmp_path, disagreeing)]) == 0
    assert "Known disagreements: 1;" in capsys.readouterr().out
    assert main([written(tmp_path, row(completion()) | {"id": known})]) == 1
    assert "agrees; take it off" in capsys.readouterr().out


def test_rows_without_an_adapter_are_left_out_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([written(tmp_path, row("?") | {"api": "smoke-signals"}, row(completion()))]) == 0
    assert "Rows left out: 1, because there is no adapter yet for smoke-signals." in capsys.readouterr().out


def test_a_run_that_replays_nothing_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([written(tmp_path, row("?") | {"api": "smoke-signals"})]) == 2
    assert capsys.readouterr().err.count("\n") == 1


BROKEN = {
    "empty": ("", "holds no row"),
    "no-json": ("{}\n", "line 1: the field 'response' is missing"),
    "half-a-line": (json.dumps(row(completion())) + "\n{", "line 2: not a row of recorded traffic"),
    "another-kind": (json.dumps(row(completion(), kind="song")), "line 1: not a row of recorded traffic"),
    "a-list": ("[]", "line 1: not a row of recorded traffic"),
}


@pytest.mark.parametrize(("text", "told"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_refused_in_one_line_that_says_where(
    text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text(text)
    assert main([str(path)]) == 2
    message = capsys.readouterr().err
    assert message.startswith(str(path))
    assert told in message
    assert message.count("\n") == 1


def test_a_missing_file_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nowhere.jsonl")]) == 2
    assert capsys.readouterr().err.endswith(
        "nowhere.jsonl: No such file or directory; name a file of recorded traffic\n"
    )


def test_the_readme_lists_every_known_disagreement_with_its_reason() -> None:
    readme = Path(__file__).with_name("README.md").read_text()
    listed = [f"| `{row_id}` | {reason} |" for row_id, reason in KNOWN_DISAGREEMENTS.items()]
    assert [line for line in readme.splitlines() if line.startswith("| `oc-")] == listed
