"""The command that undoes a compaction: a shell runs it as it is, and it shows no credential."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.cli.arguments import table_address
from lithify.cli.rollback import rollback
from lithify.contract.undoing import rollback_command, undo_sentence, variable_of
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.model import SnapshotId

BEFORE = SnapshotId("41")
_TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20).map(
    str.strip
)
_VALUES = _TEXTS.filter(lambda text: text and "@" not in text and "=" not in text)


def words_of(command: str, variables: Mapping[str, str] | None = None) -> list[str]:
    """The words that a real shell makes of a command, in which the program is another one."""
    assert command.startswith("lithify rollback ")
    shown = "printf '%s\\0' " + command.removeprefix("lithify ")
    done = subprocess.run(
        ["/bin/sh", "-c", shown], env=variables or {}, capture_output=True, check=True, timeout=20
    )
    return done.stdout.decode().split("\0")[:-1]


def parsed(words: list[str]) -> tuple[TableAddress, dict[str, Any]]:
    """What the command of the same words is asked for."""
    assert words[0] == "rollback"
    options = rollback.make_context("rollback", words[1:]).params
    return table_address(options), options


def test_command_names_table_catalog_and_snapshot() -> None:
    address = TableAddress("s3://lake/w", "sales.orders", {"metastore": "hive", "uri": "thrift://h:9083"})
    assert rollback_command(address, BEFORE) == (
        "lithify rollback --format=paimon --warehouse=s3://lake/w --table=sales.orders "
        "--catalog-option=metastore=hive --catalog-option=uri=thrift://h:9083 --to=41"
    )


def test_sentence_says_what_the_command_is_for() -> None:
    said = undo_sentence(TableAddress("/w", "db.t"), BEFORE)
    assert said == (
        "To undo this compaction while snapshot 41 is kept: "
        "lithify rollback --format=paimon --warehouse=/w --table=db.t --to=41"
    )


@given(
    warehouse=_VALUES,
    name=_TEXTS.filter(bool),
    options=st.dictionaries(st.sampled_from(["metastore", "uri", "prefix", "scope"]), _VALUES),
    table_format=st.sampled_from(["paimon", "iceberg"]),
)
def test_command_is_parsed_as_it_was_meant(
    warehouse: str, name: str, options: dict[str, str], table_format: str
) -> None:
    address = TableAddress(warehouse, name, options, format=table_format)
    command = rollback_command(address, BEFORE)
    found, rest = parsed(shlex.split(command)[1:])
    assert (found, rest["snapshot"]) == (address, BEFORE)
    assert not rest["lose_commits"]


@pytest.mark.parametrize(
    "text",
    ["it's", "$HOME", "`id`", "a b", 'x"y', "-x", "a\\b", "*", "!!", "~", "ä\n", ";true", "#", "$(id)"],
)
def test_shells_change_no_character(text: str) -> None:
    address = TableAddress(f"/w/{text}", f"db.{text}$branch_b", {"prefix": f"v{text}v"})
    found, _ = parsed(words_of(rollback_command(address, BEFORE)))
    assert found == address


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("s3.secret-key", "abc"),
        ("s3.access-key", "AKIA123"),
        ("jdbc.password", "pw"),
        ("token", "ey12"),
        ("credential", "id:open sesame"),
        ("header.x-api", "k9z"),
        ("uri", "postgresql://me:pw@host/db"),
        ("uri", "jdbc:postgresql://host/db?user=me&password=open"),
    ],
)
def test_credentials_come_from_variables_of_the_shell(name: str, value: str) -> None:
    address = TableAddress("/w", "db.t", {name: value})
    command = rollback_command(address, BEFORE)
    assert value not in command
    assert "pw" not in command
    assert "open" not in command
    found, _ = parsed(words_of(command, {variable_of(name): value}))
    assert found == address


def test_option_of_a_secret_is_hidden_whatever_its_name() -> None:
    address = TableAddress("/w", "db.t", {"endpoint": "hidden"})
    assert "hidden" not in rollback_command(address, BEFORE, ["endpoint"])


def test_user_in_the_warehouse_is_hidden() -> None:
    address = TableAddress("s3://key:pw@bucket/w", "db.t")
    command = rollback_command(address, BEFORE)
    assert "pw" not in command
    assert parsed(words_of(command, {"LITHIFY_WAREHOUSE": address.warehouse}))[0] == address


def test_shell_refuses_without_the_variable() -> None:
    command = rollback_command(TableAddress("/w", "db.t", {"token": "t"}), BEFORE)
    done = subprocess.run(["/bin/sh", "-c", f"echo {command}"], env={}, capture_output=True, check=False)
    assert done.returncode != 0
    assert b"LITHIFY_TOKEN" in done.stderr
