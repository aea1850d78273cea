"""`lithify import`: prints a policy, and LakeTables, that do what settings of other programs did."""

from __future__ import annotations

from typing import BinaryIO

import click

from lithify.cli.render_import import imported_yaml
from lithify.errors import InvalidOption
from lithify.formats.registry import import_settings as read_settings

_MOST_BYTES = 1 << 20


@click.command("import")
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--name", default="imported", show_default=True, help="Name of the CompactionPolicy.")
@click.option("--catalog", help="Name of the Catalog. Default: what the settings call it, else lake.")
@click.option("--table", help="The table that has these properties, as database.table.")
def import_settings(file: BinaryIO, name: str, catalog: str | None, table: str | None) -> None:
    """Print what CALL statements of Spark, or properties of Amoro, become here, as YAML.

    FILE has the statements or the properties of a table; without it they are read from standard input.
    """
    settings = read_settings(_text(file), table)
    if settings is None:
        raise InvalidOption(_named(file), "it has neither CALL statements nor properties of a table")
    click.echo(imported_yaml(settings, name, catalog), nl=False)


def _text(file: BinaryIO) -> str:
    content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise InvalidOption(_named(file), f"it has more than {_MOST_BYTES:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidOption(_named(file), f"it is no text in UTF-8: {error}") from error


def _named(file: BinaryIO) -> str:
    return str(getattr(file, "name", "FILE")).replace("<stdin>", "standard input")
