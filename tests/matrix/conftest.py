from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.matrix.acme_project import Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project of the test's own, with its adapter importable and its page built."""
    project = Project.create(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    built = project.run("build")
    assert built.exit_code == 0, built.output
    # Another test's adapter has the same name.
    monkeypatch.delitem(sys.modules, "acme_adapter", raising=False)
    return project
