"""No table format has a name in `rewriting`: what is a format's own comes in from its adapter as data."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lithify.engine.rewrite

FOLDER = Path(lithify.engine.rewrite.__file__).parent
FORMATS = re.compile(r"paimon|iceberg|arctic|amoro|_sequence_number|_value_kind|_key_", re.IGNORECASE)


def mentions(source: str) -> list[str]:
    """Lines that name a format or one of its columns; names of Python's own, as sort_key_of, are none."""
    return [line for line in source.splitlines() if FORMATS.search(re.sub(r"\w_key_\w", "", line))]


@pytest.mark.parametrize("module", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_no_format_is_named(module: Path) -> None:
    assert mentions(module.read_text()) == []


@pytest.mark.parametrize("line", ["as Paimon does", 'number: str = "_SEQUENCE_NUMBER"', '"_KEY_id"'])
def test_a_name_would_be_found(line: str) -> None:
    assert mentions(line) == [line]
