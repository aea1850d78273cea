"""The options that several commands share, and what their texts mean.

Used by the command modules. Every parser raises `InvalidOption`, which ends the command with one sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import unquote

import click

from lithify.clock import SystemClock
from lithify.errors import InvalidOption
from lithify.formats.adapters import FORMATS
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from lithify.sizes import parse_size

Command = TypeVar("Command", bound=Callable[..., Any])

_BUCKETS = re.compile(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", re.ASCII)
_BINARY = re.compile(r"([kmgt])ib$", re.ASCII | re.IGNORECASE)
"""Units of table options are binary without saying so; on the command line they may."""
_MOST_BUCKETS = 1 << 20
"""More than a table can sensibly have; a range beyond it is a slip, and would take memory without end."""


@dataclass(frozen=True, slots=True)
class TableArguments:
    """Which table, and which part of it."""

    address: TableAddress
    selection: Selection

    @property
    def clock(self) -> SystemClock:
        """The machine's clock in the table's zone."""
        return SystemClock(self.address.zone())


format_option = click.option(
    "--format",
    "table_format",
    type=click.Choice(FORMATS),
    default=FORMATS[0],
    show_default=True,
    help="The format of the table.",
)

_ADDRESS_OPTIONS = (
    format_option,
    click.option("--warehouse", required=True, help="Root directory of the catalog."),
    click.option(
        "--table", required=True, help="The table, as namespace.table or namespace.table$branch_name."
    ),
    click.option(
        "--catalog-option",
        "catalog_options",
        multiple=True,
        metavar="KEY=VALUE",
        help="Option of the catalog (metastore, uri, credentials...). Repeatable.",
    ),
    click.option(
        "--option",
        "overrides",
        multiple=True,
        metavar="KEY=VALUE",
        help="Table option for this run only, where the command allows it. Repeatable.",
    ),
    click.option("--time-zone", help="Time zone of the table's writers. Default: this machine's."),
)
_PART_OPTIONS = (
    click.option(
        "--partition",
        "partitions",
        multiple=True,
        metavar="COLUMN=VALUE[,...]",
        help="Only partitions with these values. Repeatable: any of them.",
    ),
    click.option("--bucket", "buckets", metavar="LIST", help="Only these buckets, for example 0-3,7."),
)


def address_options(command: Command) -> Command:
    """Adds the options that name a table."""
    for option in reversed(_ADDRESS_OPTIONS):
        command = option(command)
    return command


def table_options(command: Command) -> Command:
    """Adds the options that name a table and a part of it."""
    for option in reversed(_PART_OPTIONS):
        command = option(command)
    return address_options(command)


strategy_option = click.option(
    "--strategy",
    type=click.Choice([strategy.value for strategy in Strategy]),
    default=Strategy.MINOR.value,
    show_default=True,
    help="minor: one pick a bucket by the table's triggers. full: everything to the top level.",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")


def table_address(options: dict[str, Any]) -> TableAddress:
    """Takes the values of `address_options` out of a command's options.

    Raises:
        InvalidOption: one of them cannot be understood.
    """
    address = TableAddress(
        warehouse=options.pop("warehouse"),
        name=options.pop("table"),
        catalog_options=pairs("--catalog-option", options.pop("catalog_options")),
        overrides=pairs("--option", options.pop("overrides")),
        format=options.pop("table_format"),
        time_zone=options.pop("time_zone"),
    )
    address.zone()  # an unknown one is refused before any work
    return address


def table_arguments(options: dict[str, Any]) -> TableArguments:
    """Takes the values of `table_options` and of `strategy_option` out of a command's options.

    Raises:
        InvalidOption: one of them cannot be understood.
    """
    address = table_address(options)
    selection = Selection(
        partitions=tuple(_partition(text) for text in options.pop("partitions")),
        buckets=_buckets(options.pop("buckets")),
        strategy=Strategy(options.pop("strategy", Strategy.MINOR)),
    )
    return TableArguments(address, selection)


def pairs(option: str, texts: Iterable[str]) -> dict[str, str]:
    """Reads KEY=VALUE texts.

    Raises:
        InvalidOption: a text is none.
    """
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (equals and key.strip()):
            raise InvalidOption(option, f"'{text}' is not of the form KEY=VALUE")
        found[key.strip()] = value.strip()
    return found


def size(option: str, text: str) -> int:
    """Reads a number of bytes such as 512mb or 20GiB.

    Raises:
        InvalidOption: the text is none, or not positive.
    """
    try:
        found = parse_size(_BINARY.sub(r"\1b", text.strip()))
    except ValueError as error:
        raise InvalidOption(option, f"'{text}' is not a size such as 512mb ({error})") from error
    if found <= 0:
        raise InvalidOption(option, "it must be more than nothing")
    return found


def _partition(text: str) -> dict[str, str]:
    """Reads `dt=2026-01-01,hr=12`, or the same as a path with slashes."""
    separator = "/" if "/" in text else ","
    parts = text.strip("/").split(separator)
    found = pairs("--partition", parts)
    if len(found) < len(parts):
        problem = f"'{text}' names a column twice; repeat --partition for partitions of either value"
        raise InvalidOption("--partition", problem)
    return {unquote(column): unquote(value) for column, value in found.items()}


def _buckets(text: str | None) -> frozenset[int]:
    if text is None:
        return frozenset()
    found: set[int] = set()
    for part in text.split(","):
        match = _BUCKETS.fullmatch(part)
        numbers = range(int(match[1]), int(match[2] or match[1]) + 1) if match else range(0)
        if not 0 < len(numbers) <= _MOST_BUCKETS:
            raise InvalidOption("--bucket", f"'{text}' is not a list such as 0-3,7")
        found.update(numbers)
    return frozenset(found)
