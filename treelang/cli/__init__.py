"""The `treelang` command. Its subcommands come from the packages beside treelang, by entry points."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command; without its own dependency, say in one line what to install."""
    try:
        from treelang.cli.application import build
    except ModuleNotFoundError as missing:
        if missing.name != "typer":
            raise
        sys.stderr.write("treelang: the command line needs typer: pip install 'treelang[conformance]'\n")
        raise SystemExit(2) from None
    build()()
