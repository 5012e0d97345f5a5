"""The command line put together from whatever packages offer a group of subcommands."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Annotated

import typer

from treelang._version import __version__

GROUP = "treelang.commands"
"""Entry points of this group name a `typer.Typer`, a group of commands, or a function, which is one command."""


def build() -> typer.Typer:
    """The whole command with every group that is installed."""
    app = typer.Typer(
        help="Plan with a model, execute locally.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    for entry_point in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        try:
            found: typer.Typer | Callable[..., None] = entry_point.load()
        except ModuleNotFoundError as missing:
            _add_unusable(app, entry_point.name, missing.name)
        else:
            if isinstance(found, typer.Typer):
                app.add_typer(found, name=entry_point.name)
            else:
                app.command(name=entry_point.name)(found)
    return app


def _add_unusable(app: typer.Typer, name: str, missing: str | None) -> None:
    """A command in the group's place that says what it lacks, so that the other groups stay usable."""

    @app.command(
        name=name,
        help=f"Not usable: the module {missing} is not installed.",
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )
    def refuse() -> None:
        typer.echo(f"treelang {name}: needs the module {missing}: pip install 'treelang[conformance]'", err=True)
        raise typer.Exit(2)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"treelang {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Options of the command itself; each acts in its callback."""
