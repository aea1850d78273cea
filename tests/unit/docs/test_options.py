"""docs/commands.md explains every option of the commands that are for people, with its default."""

from __future__ import annotations

import re
from collections.abc import Mapping

import click
import pytest

from lithify.cli.main import COMMANDS as ALL
from lithify.cli.main import cli
from support.pages import COMMANDS

SHOWN = tuple(name for name in ALL if name != "drive")
"""The operator itself starts `drive`."""
each_command = pytest.mark.parametrize("name", SHOWN)


def sections(text: str) -> dict[str, str]:
    """The page's sections by their headings."""
    parts = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0].removeprefix("lithify "): part for part in parts}


SECTIONS = sections(COMMANDS.prose)
SHARED = SECTIONS["Options that name a table"]


def explained(name: str) -> str:
    """What the page says of a command's options."""
    shares = name in {"inspect", "plan", "compact", "expire", "merge-manifests"}
    return SECTIONS[name] + (SHARED if shares else "")


def options_of(name: str) -> Mapping[str, click.Option]:
    """A command's own options by their first names."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return {each.opts[0]: each for each in command.params if isinstance(each, click.Option)}


def default_of(option: click.Option) -> str | None:
    """The value that an option has by default, as somebody would type it; None for flags and for none."""
    found = option.default
    if option.is_flag or not isinstance(found, str | int | float) or found == "":
        return None
    return f"{found:g}" if isinstance(found, float) else str(found)


def wrong_defaults(name: str, text: str) -> dict[str, str]:
    """The options of a command whose default a text does not state, with that default."""
    defaults = {option: default_of(each) for option, each in options_of(name).items()}
    return {
        option: default
        for option, default in defaults.items()
        if default is not None and f"`{option} {default}`" not in text
    }


@each_command
def test_every_option_is_explained(name: str) -> None:
    told = set(re.findall(r"`(--[a-z-]+)", explained(name)))
    assert set(options_of(name)) - told == set()


@each_command
def test_no_option_is_explained_that_there_is_not(name: str) -> None:
    told = set(re.findall(r"^\| `(--[a-z-]+)", SECTIONS[name], flags=re.MULTILINE))
    assert told - set(options_of(name)) == set()


@each_command
def test_every_default_is_stated(name: str) -> None:
    assert wrong_defaults(name, explained(name)) == {}


def test_another_default_is_noticed() -> None:
    text = explained("operator").replace("`--looks 2`", "`--looks 3`")
    assert wrong_defaults("operator", text) == {"--looks": "2"}
