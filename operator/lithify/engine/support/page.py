"""Parts of the Markdown pages of what a format supports. Called by the module `page` of adapters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from lithify.engine.support.rules import OptionRule, RuleTable, Support

Rule = TypeVar("Rule", bound=OptionRule)


def option_tables(
    rules: RuleTable[Rule],
    plural: str,
    heads: Mapping[Support, Sequence[str]],
    cells: Callable[[Rule], tuple[str, ...]],
) -> Iterator[str]:
    """A part for each class, with a table for each group that has options of it.

    Args:
        rules: the rules of all options.
        plural: what the format calls options.
        heads: the headings of each class's tables; the first is of the names.
        cells: the cells of a rule except its names; rules of a group with equal cells share a line.
    """
    for support in Support:
        yield f"## {support.capitalize()} {plural}\n"
        found = [rule for rule in rules if rule.support is support]
        for group in dict.fromkeys(rule.group for rule in found):
            yield f"### {group} ({support})\n"
            alike: dict[tuple[str, ...], list[str]] = {}
            for rule in (rule for rule in found if rule.group == group):
                alike.setdefault(cells(rule), []).extend(rule.names)
            yield lines(heads[support], [(codes(names), *each) for each, names in alike.items()])


def cells_of(rule: OptionRule) -> tuple[str, ...]:
    """The accepted values of a rule, where its class has any, and why."""
    why, values = sentence(rule.why), codes(rule.values)
    if rule.support is Support.HARMLESS:
        return (why,)
    return values or ("never" if rule.support is Support.REFUSED else "any"), why


def lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [head, ["---"] * len(head), *rows])


def codes(names: Iterable[str]) -> str:
    """Names as code, with commas."""
    return ", ".join(f"`{name}`" if name else "empty" for name in names)


def sentence(clause: str) -> str:
    """A clause with a capital letter and a full stop."""
    return f"{clause[0].upper()}{clause[1:]}."
