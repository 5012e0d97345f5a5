"""Drawing the page: the manifest and the evidence put into `templates/provider-matrix.md.jinja`."""

from __future__ import annotations

from pathlib import PurePosixPath

from jinja2 import Environment, PackageLoader, StrictUndefined

from treelang_matrix.claims import prove
from treelang_matrix.evidence import EvidenceByAdapter
from treelang_matrix.manifest import Adapter, Manifest

PAGE = PurePosixPath("docs/provider-matrix.md")
"""Where the page is, from the project's root; its links are relative to this place."""


def render_page(manifest: Manifest, evidence: EvidenceByAdapter) -> str:
    """Return the text of the page.

    Args:
        manifest: The claims.
        evidence: What the claims rest on.
    """
    environment = Environment(
        loader=PackageLoader("treelang_matrix"),
        autoescape=False,  # noqa: S701  # the page is Markdown, and its words come from this repository
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["from_page"] = _from_page
    environment.filters["public_name"] = _public_name
    template = environment.get_template("provider-matrix.md.jinja")
    return template.render(manifest=manifest, evidence=evidence, prove=prove, notes=_notes(manifest))


def _notes(manifest: Manifest) -> dict[tuple[str, str], int]:
    """Number the notes of the feature table in the order in which a reader meets them."""
    noted = (
        (adapter.id, feature.id)
        for feature in manifest.features
        for adapter in manifest.adapters
        if adapter.features[feature.id].note
    )
    return {key: number for number, key in enumerate(noted, start=1)}


def _from_page(path: str) -> str:
    """Turn a path from the project's root into a link from the page."""
    here, there = PAGE.parent.parts, PurePosixPath(path).parts
    shared = 0
    while shared < min(len(here), len(there)) and here[shared] == there[shared]:
        shared += 1
    return "/".join((*[".."] * (len(here) - shared), *there[shared:]))


def _public_name(adapter: Adapter) -> str:
    """Return the name by which users import the adapter: the package root's."""
    module, _, name = adapter.transport.partition(":")
    return f"{module.partition('.')[0]}.{name}"
