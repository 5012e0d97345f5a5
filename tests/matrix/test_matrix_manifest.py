"""The published schema is the models' own, and this project's manifest is true to the project."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import treelang
from tests.matrix.acme_project import MANIFEST
from treelang_matrix.manifest import SCHEMA_PATH, Manifest, load_manifest, manifest_schema, manifest_schema_text
from treelang_matrix.profiles import import_object

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return load_manifest(ROOT / "matrix" / "providers.toml")


def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(manifest_schema())


def test_the_published_schema_is_drawn_from_the_models() -> None:
    assert manifest_schema_text() == SCHEMA_PATH.read_text(), "renew it with: make docs"


def test_the_published_schema_is_a_sound_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(manifest_schema())


def test_the_projects_manifest_is_valid_by_the_published_schema() -> None:
    validator().validate(tomllib.loads((ROOT / "matrix" / "providers.toml").read_text()))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        pytest.param(("schema_version",), 2, id="another-version"),
        pytest.param(("features",), [], id="no-features"),
        pytest.param(("features", 0, "clauses", 0), "CMP1", id="no-clause-id"),
        pytest.param(("adapters", 0, "transport"), "acme_adapter", id="no-import-path"),
        pytest.param(("adapters", 0, "features", "completion", "status"), "perhaps", id="no-status"),
        pytest.param(("adapters", 0, "models", "acme-large", "temperature"), "hot", id="no-capability"),
        pytest.param(("adapters", 0, "extras"), "acme", id="misspelt-field"),
    ],
)
def test_the_published_schema_refuses_what_the_loader_refuses(place: tuple[Any, ...], value: Any) -> None:
    manifest = tomllib.loads(MANIFEST)
    validator().validate(manifest)
    *path, last = place
    inner: Any = manifest
    for step in path:
        inner = inner[step]
    inner[last] = value

    assert not validator().is_valid(manifest)
    with pytest.raises(ValueError, match=str(place[0])):
        Manifest.model_validate(manifest)


def test_every_adapter_of_treelang_is_in_the_manifest(manifest: Manifest) -> None:
    # An adapter is what treelang exports as a transport over a provider's SDK.
    exported = {name for name in treelang.__all__ if name.endswith("Transport")}
    contract = {"ModelTransport", "UsageAwareTransport", "CapabilityAwareTransport"}
    without_provider = {"ScriptedTransport", "RetryingTransport"}

    assert {adapter.transport for adapter in manifest.adapters} == {
        f"treelang:{name}" for name in exported - contract - without_provider
    }


def test_guides_and_extras_of_the_manifest_exist(manifest: Manifest) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]

    for adapter in manifest.adapters:
        assert (ROOT / adapter.guide).is_file()
        assert adapter.extra in extras


def test_the_adapter_itself_declares_what_its_capability_function_returns(manifest: Manifest) -> None:
    for adapter in manifest.adapters:
        transport = import_object(adapter.transport, "transport")(api_key="no-request-is-sent")
        function = import_object(adapter.capabilities, "capabilities")
        for model in (*adapter.models, "a-model-nobody-has-heard-of"):
            assert transport.capabilities(model) == function(model)
