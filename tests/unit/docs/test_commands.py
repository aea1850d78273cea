"""Commands, options and targets that the pages name exist."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from lithify.cli.main import COMMANDS as ALL
from lithify.cli.main import cli
from lithify.controller.launching.pod import pod_key
from lithify.resources.names import ObjectKey
from support.pages import CURRENT, README, ROOT, Page, arguments

OF_OTHERS = frozenset({"--set", "--output", "--build-arg", "--hypothesis-profile", "--sample"})
"""Flags of other programs that stand in the prose without their program."""
OTHERS = ("kubectl ", "helm ", "docker ", "skopeo ", "kind ")
_FLAG = re.compile(r"(?<![\w-])(--[a-z][a-z-]*)")
_TARGET = re.compile(r"\bmake ([a-z][a-z0-9-]*)")
_COMMAND = re.compile(r"lithify ([a-z][a-z-]*)\b")
each_page = pytest.mark.parametrize("page", CURRENT, ids=lambda page: page.name)


def command_of(name: str) -> click.Command:
    """One of lithify's commands."""
    found = cli.get_command(click.Context(cli), name)
    assert found is not None, name
    return found


@cache
def options_of(name: str) -> dict[str, click.Parameter]:
    """A command's options by their names."""
    return {option: each for each in command_of(name).params for option in each.opts}


@cache
def known_flags() -> frozenset[str]:
    """All options of lithify's commands, and of the benchmarks that `make` runs."""
    found = {option for name in ALL for option in options_of(name)} | {"--help", "--version", "--verbose"}
    programs = (ROOT / "benchmarks").glob("*/__main__.py")
    return frozenset(found).union(*(_FLAG.findall(path.read_text(encoding="utf-8")) for path in programs))


def unknown_flags(page: Page) -> list[str]:
    """The flags that stand in a page's prose and that nobody takes."""
    ours = [span for span in page.spans if not span.startswith(OTHERS)]
    flags = {flag for span in ours for flag in _FLAG.findall(span)}
    return sorted(flags - known_flags() - OF_OTHERS)


def unknown_targets(page: Page) -> list[str]:
    """What a page says to make, and what the Makefile does not have."""
    texts = [*page.spans, *page.commands("make")]
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    return sorted({target for text in texts for target in _TARGET.findall(text)} - targets)


def unknown_commands(page: Page) -> list[str]:
    """Commands of lithify in a page's prose that it does not have."""
    found = (_COMMAND.match(span) for span in page.spans)
    return sorted({each[1] for each in found if each is not None} - set(ALL))


def refused_commands(page: Page) -> Iterator[str]:
    """The commands of a page's blocks that lithify would refuse, each with the reason."""
    for command in page.commands("lithify"):
        _, name, *rest = arguments(command)
        try:
            command_of(name).make_context(name, rest, parent=click.Context(cli, **cli.context_settings))
        except click.ClickException as error:
            yield f"{command}: {error.format_message()}"


def test_help_lists_every_target() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(re.findall(r"^  make (\S+) ", done.stdout, re.MULTILINE)) == set(phony.split())


@pytest.mark.parametrize("name", ["inspect", "plan", "compact"])
def test_all_three_take_json(name: str) -> None:
    assert "All three take `--json`" in README.sentences
    assert "--json" in options_of(name)


def test_python_and_java_are_those_of_the_project() -> None:
    (least,) = re.findall(
        r'^requires-python = ">=(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE
    )
    pom = (ROOT / "tests" / "infrastructure" / "oracle" / "pom.xml").read_text(encoding="utf-8")
    (java,) = re.findall(r"<maven.compiler.release>(.*)</maven.compiler.release>", pom)
    assert f"You need Python {least}, and for the tests Java {java}," in README.sentences


@each_page
def test_pods_of_drivers_are_called_as_they_are(page: Page) -> None:
    """All but what the page of installing tells of an older release."""
    told = re.findall(r"\b(?:orders-7-k2x9q|NAME)-([a-z]+)", page.text.replace("`NAME-driver`", ""))
    assert {f"run-{suffix}" for suffix in told} <= {pod_key(ObjectKey("lake", "run")).name}


@each_page
def test_every_flag_on_a_page_exists(page: Page) -> None:
    assert unknown_flags(page) == []


@each_page
def test_every_make_target_on_a_page_exists(page: Page) -> None:
    assert unknown_targets(page) == []


@each_page
def test_every_command_on_a_page_exists(page: Page) -> None:
    assert unknown_commands(page) == []


@each_page
def test_commands_are_accepted(page: Page) -> None:
    assert list(refused_commands(page)) == []


def test_the_commands_are_some() -> None:
    assert sum(len(page.commands("lithify")) for page in CURRENT) > 6
    assert sum(len(page.commands("make")) for page in CURRENT) > 3


@pytest.mark.parametrize(
    ("text", "check"),
    [
        pytest.param("`--no-such-flag`", unknown_flags, id="a flag"),
        pytest.param("`make nothing`", unknown_targets, id="a target"),
        pytest.param("```console\n$ make nothing\n```", unknown_targets, id="a target in a block"),
        pytest.param("`lithify conquer`", unknown_commands, id="a command"),
        pytest.param("```console\n$ lithify watch f --forever\n```", refused_commands, id="an option"),
        pytest.param("```console\n$ lithify plan --table t\n```", refused_commands, id="one that is missing"),
    ],
)
def test_what_does_not_exist_is_noticed(text: str, check: object) -> None:
    assert len(list(check(Page(Path("x.md"), text)))) == 1  # type: ignore[operator]
