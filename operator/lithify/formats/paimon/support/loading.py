"""Reads and validates `support.yaml`.

Called by `checks` and `page`. A mistake in the file is a ValueError that names its position.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from lithify.engine.support.reading import (
    expect,
    option_rows,
    parsed,
    read_row,
    read_rows,
    read_texts,
    text_of,
)
from lithify.engine.support.rules import RuleTable, Support, check_unique
from lithify.formats.paimon.support.rules import (
    LayoutRule,
    PaimonRule,
    Role,
    SupportTable,
    TypeRule,
    When,
)

_SOURCES = ("paimon", "paimon-2", "paimon-old", "flink", "spark", "hive", "parquet", "outside")


@cache
def load() -> SupportTable:
    """The support table of this package, read and validated once."""
    return parse(text_of(__package__, "support.yaml"))


def parse(text: str) -> SupportTable:
    """Parses a support table; a ValueError names the first mistake."""
    top = read_row(parsed(text), "intro layouts types options")
    options = RuleTable(_option_rule(*each) for each in option_rows(top["options"], "when source"))
    types = tuple(map(_type_rule, read_rows(top["types"])))
    layouts = tuple(map(_layout_rule, read_rows(top["layouts"])))
    check_unique(name for rule in types for name in rule.names)
    return SupportTable(str(top["intro"]), layouts, types, options)


def _option_rule(fields: Mapping[str, Any], shared: Mapping[str, Any]) -> PaimonRule:
    rule = PaimonRule(**shared, when=_when(fields), source=fields.get("source", "paimon"))
    expect(rule.source in _SOURCES, f"{rule.names[0]}: {rule.source}")
    _expect_when(rule.names[0], rule.support is Support.REFUSED, rule.when)
    return rule


def _type_rule(row: object) -> TypeRule:
    fields = read_row(row, "name", "aliases refused precision precision-why when")
    names = (str(fields["name"]), *(read_texts(fields["aliases"]) if "aliases" in fields else ()))
    refused = {Role(role): str(why) for role, why in fields.get("refused", {}).items()}
    _expect_when(names[0], bool(refused), _when(fields))
    expect(("precision" in fields) == ("precision-why" in fields), f"{names[0]}: precision without a reason")
    low, high = map(int, fields.get("precision", (0, 0)))
    precision = (low, high) if "precision" in fields else None
    return TypeRule(
        names=names,
        refused=refused,
        precision=precision,
        precision_why=str(fields.get("precision-why", "")),
        when=_when(fields),
    )


def _layout_rule(row: object) -> LayoutRule:
    fields = read_row(row, "name title class why", "when")
    support, when = Support(fields["class"]), _when(fields)
    _expect_when(fields["name"], support is Support.REFUSED, when)
    return LayoutRule(str(fields["name"]), str(fields["title"]), support, str(fields["why"]), when)


def _when(fields: Mapping[str, Any]) -> When | None:
    return When(fields["when"]) if "when" in fields else None


def _expect_when(name: str, is_refused: bool, when: When | None) -> None:
    expect((when is not None) == is_refused, f"{name}: `when` goes with refused")
