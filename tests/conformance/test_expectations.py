"""Expected failures as a file: its form, and one line for everything that is wrong with it."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from treelang_conformance.expectations import ExpectationError, ExpectedFailure, load_expected_failures


def written(folder: Path, text: str) -> Path:
    path = folder / "known.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_holds_one_table_an_id(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        [CMP-2]
        reason = "it retries"
        issue = "https://example.test/issues/1"

        ["ERR-8/retry-after-is-read[stream-ms]"]
        reason = "it ignores milliseconds"
        issue = "#7"
        expires = 2030-01-31
        """,
    )
    assert load_expected_failures(path) == {
        "CMP-2": ExpectedFailure("it retries", "https://example.test/issues/1"),
        "ERR-8/retry-after-is-read[stream-ms]": ExpectedFailure("it ignores milliseconds", "#7", date(2030, 1, 31)),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CMP-2 = 'it retries'", r"known\.toml: CMP-2: write a table with reason = "),
        ("[CMP-2]\nreason = 'it retries'", r"known\.toml: CMP-2: needs a reason and an issue"),
        ("[CMP-2]\nreason = ' '\nissue = '#1'", r"known\.toml: CMP-2: needs a reason and an issue"),
        ("[CMP-2]\nreason = 'it'\nissue = '#1'\nexpiry = 2030-01-31", r"known\.toml: CMP-2: write a table"),
        ("[CMP-2]\nreason = 'it'\nissue = '#1'\nexpires = '2030-01-31'", r"CMP-2: expires must be a date without"),
        ("[CMP-2", r"known\.toml: is no TOML"),
    ],
)
def test_what_is_wrong_is_said_with_the_entry_and_the_mend(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ExpectationError, match=message):
        load_expected_failures(written(tmp_path, text))


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(ExpectationError, match=r"known\.toml: cannot be read: No such file"):
        load_expected_failures(tmp_path / "known.toml")


@pytest.mark.parametrize(("reason", "issue"), [("", "#1"), ("it retries", "")])
def test_an_entry_needs_a_reason_and_an_issue(reason: str, issue: str) -> None:
    with pytest.raises(ValueError, match="needs a reason and an issue"):
        ExpectedFailure(reason, issue)
