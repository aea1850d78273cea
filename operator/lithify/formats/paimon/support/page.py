"""Renders the support table as docs/support.md: `python -m lithify.formats.paimon.support.page`.

Called by `make docs` and by the test that keeps the page current.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence

from lithify.formats.paimon.support.loading import load
from lithify.formats.paimon.support.rules import (
    OptionRule,
    Role,
    Support,
    SupportTable,
    When,
)


def render() -> str:
    """The page docs/support.md."""
    table = load()
    made = "Made from operator/lithify/formats/paimon/support/support.yaml by `make docs`."
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
        uses = ["no" if rule.problem(role, None) else "yes" for role in Role]
        reasons = (*rule.refused.values(), rule.precision_why)
        why = " ".join(map(_sentence, dict.fromkeys(filter(None, reasons))))
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
    """The table cells of a rule except its names; rules with equal cells share a line."""
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
