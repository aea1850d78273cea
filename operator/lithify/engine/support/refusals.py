"""Finds the options that a release refuses, and says so without showing secrets. Pure.

Called by adapters before any work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lithify.engine.support.rules import OptionRule, RuleTable
from lithify.plain_text import cut
from lithify.redaction import REDACTED, is_telling

_MOST_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason why a table cannot be compacted; `str()` turns it into a clause for people.

    Attributes:
        kind: what is refused, such as "option" or "column".
        name: its name.
        value: its value, shortened, and hidden if it may be a secret.
        why: what would go wrong, or that support is planned.
        accepted: the values that would be accepted.
        unclassified: whether no rule is about it.
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


def refused_options(
    kind: str,
    options: Mapping[str, str],
    rules: RuleTable[OptionRule],
    unknown: str,
    prefixes: tuple[str, ...] = ("",),
) -> Iterator[Refusal]:
    """The options of a table that are refused, by name.

    Args:
        kind: what the format calls an option.
        options: the options and their values.
        rules: what the release knows of options.
        unknown: why an option without a rule is refused.
        prefixes: how the names of options begin that are refused if they have no rule; others are accepted.
    """
    for name, value in sorted(options.items()):
        rule = rules.rule(name)
        if rule is None and name.startswith(prefixes):
            yield Refusal(kind, name, _shown(name, value), unknown, unclassified=True)
        elif rule is not None and not rule.accepts(value):
            yield Refusal(kind, name, _shown(name, value), rule.why, rule.values)


def _shown(name: str, value: str) -> str:
    """A value for a message: without secrets, one short line."""
    return REDACTED if is_telling(name) else cut(" ".join(value.split()), _MOST_SHOWN)
