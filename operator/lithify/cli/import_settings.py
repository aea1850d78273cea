"""`lithify import`: prints a policy, and LakeTables, that do what settings of other programs did."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from lithify.cli.render_import import imported_yaml
from lithify.errors import InvalidOption
from lithify.formats.registry import import_settings as read_settings

_MOST_BYTES = 1 << 20
_STANDARD_INPUT = "-"


@click.command("import")
@click.argument("file", default=_STANDARD_INPUT)
@click.option("--name", default="imported", show_default=True, help="Name of the CompactionPolicy.")
@click.option("--catalog", help="Name of the Catalog. Default: what the settings call it, else lake.")
@click.option("--table", help="The table that has these properties, as database.table.")
def import_settings(file: str, name: str, catalog: str | None, table: str | None) -> None:
    """Print what CALL statements of Spark, or properties of Amoro, become here, as YAML.

    FILE has the statements or the properties of a table; without it they are read from standard input.
    """
    named = "standard input" if file == _STANDARD_INPUT else file
    settings = read_settings(_text(_content(file), named), table)
    if settings is None:
        raise InvalidOption(named, "it has neither CALL statements nor properties of a table")
    click.echo(imported_yaml(settings, name, catalog), nl=False)


def _content(file: str) -> bytes:
    if file == _STANDARD_INPUT:
        return sys.stdin.buffer.read(_MOST_BYTES + 1)
    try:
        with Path(file).open("rb") as opened:
            return opened.read(_MOST_BYTES + 1)
    except OSError as error:
        raise InvalidOption(file, str(error.strerror)) from error


def _text(content: bytes, named: str) -> str:
    if len(content) > _MOST_BYTES:
        raise InvalidOption(named, f"it has more than {_MOST_BYTES:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidOption(named, f"it is no text in UTF-8: {error}") from error
