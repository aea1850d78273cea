"""Summaries say which other services optimize a table."""

from __future__ import annotations

import pytest

from lithify.formats.iceberg.observing.summary import other_optimizers
from support.cases import case


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        case({}, [], id="not said"),
        case({"self-optimizing.enabled": "false"}, [], id="off"),
        case({"self-optimizing.enabled": "TRUE"}, ["Amoro"], id="on, in any case"),
    ],
)
def test_amoro_is_named_where_it_is_on(properties: dict[str, str], expected: list[str]) -> None:
    assert [told.partition("'")[0] for told in other_optimizers(properties)] == expected
