"""The command line in this process, and small tables for it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from lithify.cli.main import main
from lithify.formats.protocol.address import TableAddress
from support.orders_table import make_orders


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        assert self.code == 0, self.err
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def sentence(self) -> str:
        """The only line on stderr, where nothing else was printed."""
        assert self.out == ""
        (line,) = self.err.splitlines()
        return line


Lithify = Callable[..., Ended]


@pytest.fixture
def lithify(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Lithify:
    """Runs `lithify` with some words behind it."""

    def run(*words: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["/usr/bin/lithify", *words])
        with pytest.raises(SystemExit) as end:
            main()
        printed = capsys.readouterr()
        assert isinstance(end.value.code, int)
        return Ended(end.value.code, printed.out, printed.err)

    return run


@pytest.fixture(scope="package")
def orders(tmp_path_factory: pytest.TempPathFactory) -> TableAddress:
    """A table of three commits with four buckets, for reading only."""
    return make_orders(tmp_path_factory.mktemp("orders"), commits=3)


def named(table: TableAddress) -> list[str]:
    """The options that name a table."""
    return ["--warehouse", table.warehouse, "--table", table.name]
