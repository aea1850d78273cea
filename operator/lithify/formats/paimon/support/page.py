"""Renders the support table as docs/support.md: `python -m lithify.formats.paimon.support.page`.

Called by `make docs` and by the test that keeps the page current.
"""

from __future__ import annotations

import sys

from lithify.engine.support.page import cells_of, codes, lines, option_tables, sentence
from lithify.engine.support.rules import Support
from lithify.formats.paimon.support.loading import load
from lithify.formats.paimon.support.rules import PaimonRule, Role, SupportTable, When

_HEADS = {
    Support.SUPPORTED: ("Option", "Accepted values", "In a compaction"),
    Support.REFUSED: ("Option", "Accepted only as", "Why", "When"),
    Support.HARMLESS: ("Option", "Why it does not matter"),
}


def render() -> str:
    """The page docs/support.md."""
    table = load()
    made = "Made from operator/lithify/formats/paimon/support/support.yaml by `make docs`."
    parts = ["# What Lithify supports of Apache Paimon\n", f"<!-- {made} -->\n", table.intro]
    parts += ["## Kinds of tables\n", _layout_lines(table), "## Column types\n", _type_lines(table)]
    return "\n".join([*parts, *option_tables(table.options, "options", _HEADS, _option_cells)])


def _layout_lines(table: SupportTable) -> str:
    rows = [(r.title, str(r.support), sentence(r.why), _later(r.when)) for r in table.layouts]
    return lines(("Kind of table", "Class", "Why", "When"), rows)


def _type_lines(table: SupportTable) -> str:
    rows = []
    for rule in table.types:
        bounds = "" if rule.precision is None else f"{rule.precision[0]} to {rule.precision[1]}"
        uses = ["no" if rule.problem(role, None) else "yes" for role in Role]
        reasons = (*rule.refused.values(), rule.precision_why)
        why = " ".join(map(sentence, dict.fromkeys(filter(None, reasons))))
        rows.append((codes(rule.names), bounds, *uses, why, _later(rule.when)))
    return lines(("Type", "Precision", *(f"As {role}" for role in Role), "Why not more", "When"), rows)


def _option_cells(rule: PaimonRule) -> tuple[str, ...]:
    return (*cells_of(rule), _later(rule.when)) if rule.support is Support.REFUSED else cells_of(rule)


def _later(when: When | None) -> str:
    return {None: "", When.PLANNED: "planned", When.UNPLANNED: "not planned"}[when]


if __name__ == "__main__":
    sys.stdout.write(render())
