"""What this release supports of Apache Paimon: options, column types and table layouts, from one table.

The table is `support.yaml` beside this module. The Paimon adapter asks it before any work and turns what
comes back into one `UnsupportedTable`; `python -m lithify.tables.paimon.support` prints docs/support.md from
it. What the table does not classify is refused by name. This module reads nothing but that resource (no
table, no pypaimon) and raises nothing on purpose but a ValueError for a mistake in the resource.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any

import yaml

UNKNOWN_OPTION = "Lithify does not know this option and cannot tell what a compaction has to do about it"
UNKNOWN_TYPE = "Lithify does not know this type"
_SOURCES = ("paimon", "paimon-2", "paimon-old", "flink", "spark", "hive", "parquet", "outside")
_SECRET = re.compile(r"secret|password|token|credential|access.?key|keytab", re.IGNORECASE)
_TYPE = re.compile(r"([A-Z_]+) ?(?:\( ?([0-9]+)[^)]*\))?( WITH LOCAL TIME ZONE)?")


class Support(StrEnum):
    """How an option or a layout is classified."""

    SUPPORTED = "supported"
    HARMLESS = "harmless"
    REFUSED = "refused"


class When(StrEnum):
    """Whether a later release is to bring what is refused."""

    PLANNED = "planned"
    UNPLANNED = "unplanned"


class Role(StrEnum):
    """What a column is used for."""

    VALUE = "value"
    KEY = "key"
    SEQUENCE = "sequence"
    PARTITION = "partition"


@dataclass(frozen=True, slots=True)
class Column:
    """One use of one column; `type` is SQL text, for example `DECIMAL(10, 2) NOT NULL`."""

    name: str
    type: str
    role: Role = Role.VALUE


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason why a table cannot be compacted; `str()` makes it a clause for people.

    Attributes:
        kind: what is refused: "option", "column" or "table".
        name: the option, the column, or "layout".
        value: what it is set to, shortened, and hidden where it may be a secret.
        why: what would go wrong, or that it comes later.
        accepted: the values that would be accepted.
        unclassified: whether the support table does not know it at all.
    """

    kind: str
    name: str
    value: str
    why: str
    accepted: tuple[str, ...] = ()
    unclassified: bool = False

    def __str__(self) -> str:
        accepted = f" (accepted: {', '.join(v or 'empty' for v in self.accepted)})" if self.accepted else ""
        return f"{self.kind} {self.name} = {self.value or 'empty'}{accepted}: {self.why}"


@dataclass(frozen=True, slots=True)
class OptionRule:
    """A row of `options`; its names share everything else. The head of support.yaml explains the fields."""

    names: tuple[str, ...]
    group: str
    support: Support
    why: str
    when: When | None
    values: tuple[str, ...]
    exact_case: bool
    source: str

    def accepts(self, value: str) -> bool:
        """Whether the option may be set to `value`."""
        if not self.values:
            return self.support is not Support.REFUSED
        flags = re.ASCII if self.exact_case else re.ASCII | re.IGNORECASE
        patterns = (re.escape(allowed).replace("<n>", "0*[1-9][0-9]*") for allowed in self.values)
        return any(re.fullmatch(pattern, value, flags) for pattern in patterns)


@dataclass(frozen=True, slots=True)
class TypeRule:
    """A row of `types`: the uses of a type that are refused, and the precisions that are accepted."""

    names: tuple[str, ...]
    refused: Mapping[Role, str]
    precision: tuple[int, int] | None
    precision_why: str
    when: When | None

    def problem(self, role: Role, precision: int | None) -> str:
        """Why the type cannot be used so, or nothing. No precision means Paimon's default."""
        if self.precision and precision is not None:
            low, high = self.precision
            if not low <= precision <= high:
                return self.precision_why
        return self.refused.get(Role.VALUE) or self.refused.get(role, "")


@dataclass(frozen=True, slots=True)
class LayoutRule:
    """A row of `layouts`: a kind of table by its keys and buckets."""

    name: str
    title: str
    support: Support
    why: str
    when: When | None


@dataclass(frozen=True, slots=True)
class SupportTable:
    """The whole table; `by_name` has the rule of every option name and glob."""

    intro: str
    layouts: tuple[LayoutRule, ...]
    types: tuple[TypeRule, ...]
    options: tuple[OptionRule, ...]
    by_name: Mapping[str, OptionRule]

    def option(self, name: str) -> OptionRule | None:
        """The rule of an option: by its exact name, else by the longest glob that matches."""
        if "*" not in name and name in self.by_name:
            return self.by_name[name]
        globs = (glob for glob in self.by_name if "*" in glob and _glob(glob).fullmatch(name))
        longest = max(globs, key=lambda glob: (len(glob), glob), default=None)
        return self.by_name[longest] if longest else None

    def type(self, name: str) -> TypeRule | None:
        """The rule of a type by its name or an alias."""
        return next((rule for rule in self.types if name in rule.names), None)


def check_options(options: Mapping[str, str]) -> list[Refusal]:
    """Every option that this release refuses, by name."""
    refusals = []
    for name, value in sorted(options.items()):
        rule, shown = load().option(name), _shown(name, value)
        if rule is None:
            refusals.append(Refusal("option", name, shown, UNKNOWN_OPTION, unclassified=True))
        elif not rule.accepts(value):
            refusals.append(Refusal("option", name, shown, rule.why, rule.values))
    return refusals


def check_types(columns: Iterable[Column]) -> list[Refusal]:
    """Every use of a column whose type this release refuses, by name."""
    refusals = []
    for column in sorted(columns, key=lambda c: (c.name, c.role, c.type)):
        name, precision = _split_type(column.type)
        rule, shown = load().type(name), f"{column.type} as {column.role}"
        if rule is None:
            refusals.append(Refusal("column", column.name, shown, UNKNOWN_TYPE, unclassified=True))
        elif problem := rule.problem(column.role, precision):
            refusals.append(Refusal("column", column.name, shown, problem))
    return refusals


def check_layout(primary_key: Sequence[str], partition_keys: Sequence[str], bucket: int) -> list[Refusal]:
    """The kind of the table, if it is refused. Postponed buckets are left to the option `bucket`."""
    if not primary_key:
        name = "append"
    elif bucket == -1:
        name = "dynamic-bucket" if set(partition_keys) <= set(primary_key) else "key-dynamic-bucket"
    else:
        name = "fixed-bucket"
    rule = next(rule for rule in load().layouts if rule.name == name)
    return [Refusal("table", "layout", name, rule.why)] if rule.support is Support.REFUSED else []


def _shown(name: str, value: str) -> str:
    """A value as a message may show it: no secrets, one short line."""
    text = " ".join(value.split())
    return "***" if _SECRET.search(name) else text if len(text) <= 80 else f"{text[:79]}…"


def _split_type(sql: str) -> tuple[str, int | None]:
    """The name of a type without its parameters, and its first parameter."""
    text = re.sub(r" (NOT )?NULL$", "", " ".join(sql.upper().split()))
    if constructed := re.match(r"([A-Z]+) ?<", text):
        return constructed[1], None
    match = _TYPE.fullmatch(text)
    return (match[1] + (match[3] or ""), int(match[2]) if match[2] else None) if match else (text, None)


@cache
def _glob(glob: str) -> re.Pattern[str]:
    return re.compile(re.escape(glob).replace(r"\*", ".*"), re.DOTALL)


@cache
def load() -> SupportTable:
    """The support table of this package, read and validated once."""
    return parse(resources.files(__package__).joinpath("support.yaml").read_text(encoding="utf-8"))


def parse(text: str) -> SupportTable:
    """Reads a support table; a ValueError tells the first mistake in it."""
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
    return TypeRule(names, refused, precision, str(fields.get("precision-why", "")), _when(fields))


def _layout_rule(row: object) -> LayoutRule:
    fields = _row(row, "name title class why", "when")
    support, when = Support(fields["class"]), _when(fields)
    _expect((when is not None) == (support is Support.REFUSED), f"{fields['name']}: `when` goes with refused")
    return LayoutRule(str(fields["name"]), str(fields["title"]), support, str(fields["why"]), when)


def _row(row: object, required: str, optional: str = "") -> Mapping[str, Any]:
    """The row as a mapping, after a check that it has what it must have and nothing unknown."""
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


def render() -> str:
    """The page docs/support.md."""
    table = load()
    made = (
        "Made from operator/lithify/tables/paimon/support.yaml by `python -m lithify.tables.paimon.support`."
    )
    parts = ["# What Lithify supports of Apache Paimon\n", f"<!-- {made} -->\n", table.intro]
    parts += ["## Kinds of tables\n", _layout_lines(table), "## Column types\n", _type_lines(table)]
    for support in (Support.SUPPORTED, Support.REFUSED, Support.HARMLESS):
        parts += [f"## {support.capitalize()} options\n", *_option_lines(table, support)]
    return "\n".join(parts)


def _layout_lines(table: SupportTable) -> str:
    rows = [(r.title, str(r.support), _sentence(r.why), _later(r.when)) for r in table.layouts]
    return _lines(("Kind of table", "Class", "Why", "When"), rows)


def _type_lines(table: SupportTable) -> str:
    rows = []
    for rule in table.types:
        bounds = "" if rule.precision is None else f"{rule.precision[0]} to {rule.precision[1]}"
        uses = ["yes" if not rule.problem(role, None) else "no" for role in Role]
        why = " ".join(
            map(_sentence, dict.fromkeys(filter(None, (*rule.refused.values(), rule.precision_why))))
        )
        rows.append((_codes(rule.names), bounds, *uses, why, _later(rule.when)))
    return _lines(("Type", "Precision", *(f"As {role}" for role in Role), "Why not more", "When"), rows)


def _option_lines(table: SupportTable, support: Support) -> Iterator[str]:
    """A heading and a table for each group that has options of this class."""
    heads = {
        Support.SUPPORTED: ("Option", "Accepted values", "In a compaction"),
        Support.REFUSED: ("Option", "Accepted only as", "Why", "When"),
        Support.HARMLESS: ("Option", "Why it does not matter"),
    }
    for group in dict.fromkeys(rule.group for rule in table.options if rule.support is support):
        yield f"### {group} ({support})\n"
        alike: dict[tuple[str, ...], list[str]] = {}
        for rule in (r for r in table.options if r.group == group and r.support is support):
            alike.setdefault(_option_cells(rule), []).extend(rule.names)
        yield _lines(heads[support], [(_codes(names), *cells) for cells, names in alike.items()])


def _option_cells(rule: OptionRule) -> tuple[str, ...]:
    """What the page says of a rule beside its names; rules that say the same share a line."""
    why, values = _sentence(rule.why), _codes(rule.values)
    if rule.support is Support.REFUSED:
        return values or "never", why, _later(rule.when)
    return (why,) if rule.support is Support.HARMLESS else (values or "any", why)


def _lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [head, ["---"] * len(head), *rows])


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" if name else "empty" for name in names)


def _sentence(clause: str) -> str:
    return f"{clause[0].upper()}{clause[1:]}."


def _later(when: When | None) -> str:
    return {None: "", When.PLANNED: "planned", When.UNPLANNED: "not planned"}[when]


if __name__ == "__main__":
    sys.stdout.write(render())
