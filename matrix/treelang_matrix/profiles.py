"""Comparing the model profiles of the manifest with what the adapters' capability functions return (CAP-4)."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from treelang import ModelCapabilities
from treelang_matrix.errors import MatrixInputError
from treelang_matrix.manifest import Adapter, ModelProfile


def import_object(path: str, field: str) -> Any:
    """Return what the import path `module:name` names.

    Raises:
        MatrixInputError: It cannot be imported; the message begins with `field`.
    """
    module_name, _, name = path.partition(":")
    try:
        return getattr(importlib.import_module(module_name), name)
    except ImportError as error:
        raise MatrixInputError(f"{field}: cannot import {module_name!r} of {path!r}: {error}") from error
    except AttributeError:
        raise MatrixInputError(f"{field}: the module {module_name!r} has no {name!r}") from None


def profile_differences(adapter: Adapter, field: str) -> Iterator[str]:
    """Yield one line for each capability that the manifest and the adapter's function do not agree on.

    Args:
        adapter: The adapter and its profiles.
        field: Where the adapter stands in the manifest, for messages.

    Raises:
        MatrixInputError: The import paths cannot be used.
    """
    import_object(adapter.transport, f"{field}.transport")
    capabilities = import_object(adapter.capabilities, f"{field}.capabilities")
    for model, profile in adapter.models.items():
        declared = capabilities(model)
        if not isinstance(declared, ModelCapabilities):
            raise MatrixInputError(f"{field}.capabilities: {adapter.capabilities!r} did not return ModelCapabilities")
        for capability in ModelProfile.model_fields:
            claimed, actual = getattr(profile, capability), getattr(declared, capability)
            if claimed != actual:
                yield (
                    f"{adapter.id}: the manifest says {capability} = {str(claimed).lower()} for {model}, "
                    f"but {adapter.capabilities} says {str(actual).lower()}"
                )
