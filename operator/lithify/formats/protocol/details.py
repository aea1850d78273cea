"""Details: figures of units, plans and reports that only some formats or kinds of tables have.

An adapter declares the kind of a detail once: its name for machines, its label and wording for people, and
how its values add up. Engine, commands and operator carry, add and show details without knowing any of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class DetailKind:
    """What a detail is. Functions are those of modules, so that kinds can be pickled.

    Attributes:
        name: its name in JSON.
        label: heading of its column in tables for people; without one it is only in JSON.
        shown: the text of a value for people; values None have none.
        total: name of the sum over groups; empty if values do not add up.
        amount: what a value adds to the sum.
        said: the sum as a part of a sentence, for example `2 files upgraded`, or empty where it need not be
            said; None if it is only in JSON.
    """

    name: str
    label: str = ""
    shown: Callable[[Any], str] = str
    total: str = ""
    amount: Callable[[Any], int] = int
    said: Callable[[int], str] | None = None


@dataclass(frozen=True, slots=True)
class Detail:
    """A detail of one unit or group.

    Attributes:
        kind: what it is.
        value: plain data for JSON; None if the unit or group has no such figure.
    """

    kind: DetailKind
    value: Any

    @property
    def text(self) -> str | None:
        """The value for people; None if there is none."""
        return None if self.value is None else self.kind.shown(self.value)


Details = Sequence[Detail]
"""The details of one unit or group, in the order in which they are shown."""


def totals_of(details: Iterable[Details]) -> dict[str, int]:
    """The sums of the details of several units or groups, by the name of the sum."""
    sums: dict[str, int] = {}
    for detail in (detail for each in details for detail in each):
        if detail.kind.total:
            amount = 0 if detail.value is None else detail.kind.amount(detail.value)
            sums[detail.kind.total] = sums.get(detail.kind.total, 0) + amount
    return sums


def added(*totals: Mapping[str, int]) -> dict[str, int]:
    """The sums of several sums, by name; those that are zero are missing."""
    return dict(sum(map(Counter, totals), Counter[str]()))


def as_fields(details: Iterable[Detail]) -> dict[str, Any]:
    """Details as fields of a JSON object."""
    return {detail.kind.name: detail.value for detail in details}
