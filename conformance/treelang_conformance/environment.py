"""With which versions a run was made."""

from __future__ import annotations

import platform
from importlib import metadata

from treelang_conformance.report import Environment

_PACKAGES = ("openai", "anthropic", "httpx2", "httpx")


def environment() -> Environment:
    """The versions of Python and of the provider SDKs and HTTP libraries that are installed."""
    packages = {}
    for package in _PACKAGES:
        try:
            packages[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return Environment(python=platform.python_version(), packages=packages)


def kit_version() -> str:
    """The version of the distribution that holds this kit."""
    from treelang._version import __version__

    return __version__
