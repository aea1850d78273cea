"""Reads and validates `support.yaml`.

Called by `checks` and `page`. A mistake in the file is a ValueError that names its position.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

import yaml

from lithify.formats.paimon.support.rules import (
    LayoutRule,
    OptionRule,
    Role,
    Support,
    SupportTable,
    TypeRule,
    When,
)

_SOURCES = ("paimon", "paimon-2", "paimon-old", "flink", "spark", "hive", "parquet", "outside")


@cache
def load() -> SupportTable:
    """The support table of this package, read and validated once."""
    return parse(resources.files(__package__).joinpath("support.yaml").read_text(encoding="utf-8"))


def parse(text: str) -> SupportTable:
    """Parses a support table; a ValueError names the first mistake."""
    top = _row(yaml.load(text, Loader=_Loader), "intro layouts types options")  # noqa: S506 (only text and lists)
    groups = [_row(group, "group rows") for group in _rows(top["options"])]
    options = tuple(
        _option_rule(str(group["group"]), row) for group in groups for row in _rows(group["rows"])
    )
    types = tuple(map(_type_rule, _rows(top["types"])))
    layouts = tuple(map(_layout_rule, _rows(top["layouts"])))
    _expect_unique([name for rule in options for name in rule.names])
    _expect_unique([name for rule in types for name in rule.names])
    by_name = {name: rule for rule in options for name in rule.names}
    return SupportTable(str(top["intro"]), layouts, types, options, by_name)


class _Loader(yaml.BaseLoader):
    """Reads every scalar as text and refuses a mapping that names a field twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        names = [key.value for key, _ in node.value]
        _expect(len(names) == len(set(names)), f"a field appears twice{node.start_mark}")
        return super().construct_mapping(node, deep)


def _option_rule(group: str, row: object) -> OptionRule:
    fields = _row(row, "keys class why", "values exact-case when source")
    names, support, when = _texts(fields["keys"]), Support(fields["class"]), _when(fields)
    source, exact_case = fields.get("source", "paimon"), fields.get("exact-case", "false")
    _expect(source in _SOURCES and exact_case in ("true", "false"), f"{names[0]}: {source}, {exact_case}")
    _expect((when is not None) == (support is Support.REFUSED), f"{names[0]}: `when` goes with refused")
    values = _texts(fields["values"]) if "values" in fields else ()
    _expect(not values or support is not Support.HARMLESS, f"{names[0]}: harmless takes any value")
    return OptionRule(names, group, support, str(fields["why"]), when, values, exact_case == "true", source)


def _type_rule(row: object) -> TypeRule:
    fields = _row(row, "name", "aliases refused precision precision-why when")
    names = (str(fields["name"]), *(_texts(fields["aliases"]) if "aliases" in fields else ()))
    refused = {Role(role): str(why) for role, why in fields.get("refused", {}).items()}
    _expect(bool(refused) == ("when" in fields), f"{names[0]}: `when` goes with refused")
    _expect(("precision" in fields) == ("precision-why" in fields), f"{names[0]}: precision without a reason")
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
    fields = _row(row, "name title class why", "when")
    support, when = Support(fields["class"]), _when(fields)
    _expect((when is not None) == (support is Support.REFUSED), f"{fields['name']}: `when` goes with refused")
    return LayoutRule(str(fields["name"]), str(fields["title"]), support, str(fields["why"]), when)


def _row(row: object, required: str, optional: str = "") -> Mapping[str, Any]:
    """The row as a mapping, after checking that it has all required and no unknown fields."""
    mapping = row if isinstance(row, dict) else {}
    missing, allowed = set(required.split()) - set(mapping), {*required.split(), *optional.split()}
    _expect(not missing, f"{', '.join(sorted(missing))} missing in {str(row)[:200]}")
    _expect(
        set(mapping) <= allowed, f"{', '.join(sorted(set(mapping) - allowed))} unknown in {str(row)[:200]}"
    )
    return mapping


def _rows(rows: object) -> list[object]:
    _expect(isinstance(rows, list) and bool(rows), f"not a list of rows: {str(rows)[:200]}")
    return rows if isinstance(rows, list) else []


def _texts(texts: object) -> tuple[str, ...]:
    return tuple(str(text) for text in _rows(texts))


def _when(fields: Mapping[str, Any]) -> When | None:
    return When(fields["when"]) if "when" in fields else None


def _expect_unique(names: Sequence[str]) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1]
    _expect(not twice, f"classified twice: {', '.join(twice)}")


def _expect(holds: bool, problem: str) -> None:
    if not holds:
        raise ValueError(f"support.yaml: {problem}")
