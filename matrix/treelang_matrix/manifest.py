"""The manifest as data: what each adapter claims, which clauses prove it, and what each model can do.

`manifest.schema.json` beside this module is drawn from these models and published for editors and other tools.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from treelang_conformance.clauses import clauses
from treelang_matrix.errors import MatrixInputError, describe

SCHEMA_VERSION = 1
SCHEMA_PATH = Path(__file__).with_name("manifest.schema.json")

Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")]
ClauseId = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}-[1-9][0-9]*$")]
ImportPath = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]
Sentence = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\n|]+$")]
"""One line that can stand in a cell of a table."""
HttpsAddress = Annotated[str, StringConstraints(pattern=r"^https://[^\s|)]+$")]


def _stays_inside(path: str) -> str:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts:
        raise ValueError("must be a path inside the project, relative to its root")
    return path


def _stands_in_the_contract(identifiers: tuple[str, ...]) -> tuple[str, ...]:
    known = {clause.id for clause in clauses()}
    for identifier in identifiers:
        if identifier not in known:
            raise ValueError(f"the contract has no clause {identifier}")
    return identifiers


RelativePath = Annotated[str, StringConstraints(min_length=1), AfterValidator(_stays_inside)]


class Status(StrEnum):
    """What an adapter claims about a feature."""

    SUPPORTED = "supported"
    MODEL_DEPENDENT = "model-dependent"
    UNSUPPORTED = "unsupported"

    @property
    def needs_evidence(self) -> bool:
        """Whether the feature's clauses must be proven: the adapter has to do its part for some model at least."""
        return self is not Status.UNSUPPORTED


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Feature(_Entry):
    """Something that an application may want of an adapter, and the clauses that prove that it is there."""

    id: Identifier
    title: Sentence
    meaning: Sentence = Field(description="What the feature gives an application, in one sentence.")
    clauses: Annotated[tuple[ClauseId, ...], AfterValidator(_stands_in_the_contract)] = Field(
        min_length=1, description="Ids of the clauses of the contract that prove the feature."
    )


class Claim(_Entry):
    """What one adapter says about one feature."""

    status: Status
    note: Sentence | None = Field(default=None, description="What an application should know; needed unless supported.")

    @model_validator(mode="after")
    def _explain_limits(self) -> Self:
        if self.status is not Status.SUPPORTED and self.note is None:
            raise ValueError(f"a feature that is {self.status} needs a note that says why")
        return self


class ModelProfile(_Entry):
    """What the adapter declares for one model, by the names of `treelang.ModelCapabilities`."""

    strict_json_schema: bool
    temperature: bool


class Adapter(_Entry):
    """One adapter: where it is, what it speaks, and what it claims."""

    id: Identifier = Field(description="Also the name of the adapter's report in each evidence folder.")
    title: Sentence
    transport: ImportPath = Field(description="The adapter's class, as `module:name`.")
    capabilities: ImportPath = Field(description="Its capability function, model name to capabilities.")
    subject: ImportPath = Field(description="The factory by which the kit makes the adapter, as its reports name it.")
    wire: Identifier = Field(description="The protocol that the adapter speaks, by the kit's name.")
    extra: Identifier = Field(description="The extra of the distribution that installs the adapter's SDK.")
    guide: RelativePath = Field(description="The adapter's guide, from the project's root.")
    documentation: HttpsAddress = Field(description="The provider's own documentation of the protocol.")
    features: dict[Identifier, Claim]
    models: dict[str, ModelProfile] = Field(min_length=1)


class EvidenceSet(_Entry):
    """A folder with one conformance report for each adapter, all made in the same environment."""

    id: Identifier
    title: Sentence = Field(description="What distinguishes the environment, for instance the SDKs' versions.")
    folder: RelativePath = Field(description="Where the reports are, from the project's root.")


class Manifest(_Entry):
    """The whole manifest."""

    schema_version: int = Field(ge=SCHEMA_VERSION, le=SCHEMA_VERSION)
    evidence: tuple[EvidenceSet, ...] = Field(min_length=1, description="Every one of them has to prove every claim.")
    features: tuple[Feature, ...] = Field(min_length=1)
    adapters: tuple[Adapter, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _hold_together(self) -> Self:
        _refuse_repetition("evidence", (evidence.id for evidence in self.evidence))
        _refuse_repetition("features", (feature.id for feature in self.features))
        _refuse_repetition("adapters", (adapter.id for adapter in self.adapters))
        known = {feature.id for feature in self.features}
        for adapter in self.adapters:
            if unknown := sorted(adapter.features.keys() - known):
                raise ValueError(f"adapter {adapter.id!r} has a claim about the unknown feature {unknown[0]!r}")
            if missing := sorted(known - adapter.features.keys()):
                raise ValueError(f"adapter {adapter.id!r} says nothing about the feature {missing[0]!r}")
        return self


def _refuse_repetition(field: str, identifiers: Iterable[str]) -> None:
    repeated = [identifier for identifier, count in Counter(identifiers).items() if count > 1]
    if repeated:
        raise ValueError(f"{field}: the id {repeated[0]!r} is there twice")


def load_manifest(path: Path) -> Manifest:
    """Read the manifest at `path`.

    Raises:
        MatrixInputError: The file is missing, is not TOML, or does not say what it must.
    """
    try:
        return Manifest.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise MatrixInputError(
            f"{path}: cannot be read: {error.strerror}; run it in the project's root, or name that with --root"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MatrixInputError(f"{path}: is not TOML: {error}") from None
    except ValidationError as error:
        raise MatrixInputError(f"{path}: {describe(error)}") from None


def manifest_schema() -> dict[str, Any]:
    """Return the manifest's JSON Schema (Draft 2020-12) as it is to be published."""
    schema = Manifest.model_json_schema()
    schema["properties"]["schema_version"] = {"const": SCHEMA_VERSION, "description": "Version of this format."}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "treelang provider manifest"}


def manifest_schema_text() -> str:
    """Return the schema as the text of its file."""
    return json.dumps(manifest_schema(), indent=2) + "\n"
