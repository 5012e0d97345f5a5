"""Credentials are shown in no case, content only where it is opted in to."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.treelang.observability.planted import (
    CREDENTIAL_NAMES,
    FORMS,
    PLAIN_NAMES,
    QUOTED_SETTINGS,
    SETTINGS,
    credential_texts,
    leaked,
    names,
    secrets,
)
from treelang.observability import REDACTED, redact
from treelang.observability.credentials import is_count_name, is_credential_name

SECRET = "hJ7kP2mQ9xR4tV6w"  # noqa: S105  # of no use anywhere


@pytest.mark.parametrize("name", CREDENTIAL_NAMES)
def test_what_stands_under_the_name_of_a_credential_is_not_shown(name: str) -> None:
    for value in (SECRET, [SECRET], {"user": SECRET}, 12345678, SECRET.encode()):
        assert redact({name: value}, allow_content=True) == {
            next(iter(redact({name: 1}, allow_content=True))): REDACTED
        }
    assert leaked(SECRET, redact({"name": name, "value": SECRET}, allow_content=True)) == []
    assert leaked(SECRET, redact([(name, SECRET)], allow_content=True)) == []


@pytest.mark.parametrize("name", PLAIN_NAMES)
def test_names_that_only_resemble_those_of_credentials_hide_nothing(name: str) -> None:
    value = 12 if is_count_name(name) else "Paris"
    assert is_credential_name(name) == is_count_name(name)
    assert redact({name: value}, allow_content=True) == {name: value}


@pytest.mark.parametrize("form", sorted(FORMS))
def test_credentials_are_known_by_their_form(form: str) -> None:
    text = FORMS[form](SECRET)
    shown = redact(f"before {text} after", allow_content=True)
    assert leaked(SECRET, shown) == []
    assert shown.startswith("before ")
    assert leaked(SECRET, redact({text: text}, allow_content=True)) == []
    assert leaked(SECRET, redact({"label": text})) == []


@pytest.mark.parametrize("setting", sorted(SETTINGS | QUOTED_SETTINGS))
def test_credentials_are_known_by_what_they_are_set_to_in_a_text(setting: str) -> None:
    texts = [(SETTINGS | QUOTED_SETTINGS)[setting](name, SECRET) for name in CREDENTIAL_NAMES]
    assert [text for text in texts if leaked(SECRET, redact(text, allow_content=True))] == []


@pytest.mark.parametrize(
    "text",
    [
        "The tallest tree is a redwood: 115.9 m. Is it (as said) the oldest? No; 3,200 years = another's.",
        "Basic arithmetic, the token generation, a bot of https://trees.example/@oak/leaf?page=2",
        '{"city": "Paris", "population": 2100000, "prompt_tokens": 12}',
        "for (key, value) in items: print(key == value, key-value-store, sk-1)",
        "",
    ],
)
def test_content_that_is_opted_in_to_is_shown_as_it_is(text: str) -> None:
    assert redact(text, allow_content=True) == text


def test_by_default_only_labels_and_numbers_are_shown() -> None:
    given = {
        "model": "gpt-4.1-mini",
        "tool_name": "get_weather",
        "prompt_tokens": 12,
        "duration_seconds": 0.25,
        "fell_back": True,
        "reason": "the model declares no strict output",
        "note": "some words",
        "metadata": {"case_id": "case-1", "remark": "some words"},
        "messages": [{"role": "user", "content": "words"}],
        "question": "words",
        "output": "words",
        "tool_arguments": {"city": "Paris"},
        "result": 12,
        "query": "",
        "response_format": None,
    }
    assert redact(given) == {
        **given,
        "note": REDACTED,
        "metadata": {"case_id": "case-1", "remark": REDACTED},
        **dict.fromkeys(("messages", "question", "output", "tool_arguments", "result", "query"), REDACTED),
    }


def test_a_credential_is_known_again_in_other_words_of_the_same_event() -> None:
    shown = redact(
        {
            "arguments": {"city": "Paris", "password": 'cor"rect horse', "pin": 48151623},
            "error": "no user 'anna' with cor\"rect horse",
            "result": {"echo": ['cor\\"rect horse', 48151623], "url": "https://x.example/cor%22rect%20horse"},
        },
        allow_content=True,
    )
    assert shown == {
        "arguments": {"city": "Paris", "password": REDACTED, "pin": REDACTED},
        "error": f"no user 'anna' with {REDACTED}",
        "result": {"echo": [REDACTED, REDACTED], "url": f"https://x.example/{REDACTED}"},
    }


class Colour(enum.Enum):
    RED = "red"


class Hostile(Mapping[str, Any]):
    """A mapping that fails when it is read."""

    def __getitem__(self, key: str) -> Any:
        raise RuntimeError(SECRET)

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError(SECRET)

    def __len__(self) -> int:
        return 1


class Telling:
    def __repr__(self) -> str:
        return SECRET

    __str__ = __repr__


def test_what_json_does_not_have_is_named_or_left_out() -> None:
    endless: list[Any] = []
    endless.append(endless)
    deep: Any = SECRET
    for _ in range(100_000):
        deep = [deep]
    broken = "\ud800"
    shown = redact(
        {
            "a": Colour.RED,
            "b": SECRET.encode(),
            "c": Telling(),
            "d": Hostile(),
            "e": float("inf"),
            "f": 10**5000,
            "g": {1: {2.5}, None: (True,)},
            "h": broken,
            "i": [1] * 1_000_000,
            "j": range(10**12),
            "k": endless,
            "l": deep,
        },
        allow_content=True,
    )
    assert leaked(SECRET, shown) == []
    assert {name: shown[name] for name in "abcdefgh"} == {
        "a": "red",
        "b": "<16 bytes>",
        "c": "<Telling>",
        "d": REDACTED,
        "e": "inf",
        "f": REDACTED,
        "g": {"1": [2.5], "None": [True]},
        "h": "?",
    }
    assert len(json.dumps(shown)) < 100_000
    assert redact(endless)[0][0][0][0]
    assert leaked(SECRET, redact(deep, allow_content=True)) == []


def test_a_long_text_is_cut_and_no_credential_with_it() -> None:
    for length in range(49_960, 50_010):
        shown = redact("x" * length + f" password={SECRET} " + "y" * 10_000, allow_content=True)
        assert leaked(SECRET, shown) == []
        assert shown.startswith("x" * 40_000)
        assert shown.endswith("characters)")


PIECES = [
    "a:",
    "http://a:",
    "://a:",
    "key-",
    "eyJ-",
    "\\",
    'token="',
    "token=[",
    "token=a&",
    "<a",
    "=",
    "cookie ",
    "%3D",
]


@pytest.mark.parametrize("piece", PIECES)
def test_no_text_is_looked_through_more_than_in_proportion_to_its_length(piece: str) -> None:
    """Hundred thousand characters that a pattern might go through again and again: that would take minutes."""
    assert isinstance(redact(piece * (40_000 // len(piece)), allow_content=True), str)


nested = st.recursive(
    credential_texts().map(lambda told: ({told[0]}, told[1]))
    | st.tuples(names, secrets).map(lambda pair: ({pair[1]}, {pair[0]: pair[1]}))
    | st.tuples(names, secrets).map(lambda pair: ({pair[1]}, {pair[0]: {"a": [1, pair[1]]}}))
    | credential_texts().map(lambda told: ({told[0]}, {told[1]: 1}))
    | st.sampled_from(["a tree", 12, None, True]).map(lambda value: (set(), value)),
    lambda inner: (
        st.lists(inner, max_size=3).map(
            lambda items: (set().union(*(planted for planted, _ in items)), [value for _, value in items])
        )
        | st.dictionaries(st.sampled_from(PLAIN_NAMES), inner, max_size=3).map(
            lambda items: (
                set().union(*(planted for planted, _ in items.values())),
                {name: value for name, (_, value) in items.items()},
            )
        )
        | inner.map(lambda item: (item[0], json.dumps(item[1])))
    ),
    max_leaves=8,
)


@settings(max_examples=400, deadline=None)
@given(nested, st.booleans())
def test_planted_credentials_never_come_out(planted: tuple[set[str], Any], allow_content: bool) -> None:
    told, value = planted
    assume(not any(leaked(secret, [*PLAIN_NAMES, REDACTED]) for secret in told))
    shown = redact({"arguments": value, "note": value}, allow_content=allow_content)
    json.dumps(shown, allow_nan=False).encode()
    assert {secret: leaked(secret, shown) for secret in told if leaked(secret, shown)} == {}
