"""What one setting of another program becomes: the form of a rule, and how the rule of a name is found. Pure.

`procedure_rules` and `amoro_rules` are tables of these; `mapping` applies them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lithify.formats.iceberg.importing.conversions import Convert, unchanged


@dataclass(frozen=True, slots=True)
class OptionRule:
    """What a setting becomes: a field, a table option, a property to set on the table, or nothing.

    Attributes:
        name: the setting; one that ends in `*` stands for all that begin so.
        note: what is said about it, besides where it went: why it became nothing, and what to do instead.
        field: the path of the field in the policy's spec; empty for none.
        option: the table option; for a LakeTable where there is no field, or tables differ; empty for none.
        is_of_table: whether it belongs to the LakeTable if one is known, even if there is a field.
        property: the property that only the owner of the table can set; empty for none.
        convert: the value of the field, or of the option or property where there is no field.
        as_is: what is said where the value asks for nothing, instead of `note`.
        needs: another setting of the same source, and its value, without which this one says nothing.
    """

    name: str
    note: str = ""
    field: str = ""
    option: str = ""
    is_of_table: bool = False
    property: str = ""
    convert: Convert = unchanged
    as_is: str = "nothing to set: this is so anyway"
    needs: tuple[str, str] | None = None


class Rules:
    """Rules by the names of settings."""

    def __init__(self, rules: Sequence[OptionRule]) -> None:
        self.rules = tuple(rules)
        self._exact: Mapping[str, OptionRule] = {rule.name: rule for rule in rules}

    def of(self, name: str) -> OptionRule | None:
        """The rule of a setting; None if this release does not know it."""
        found = self._exact.get(name)
        if found is not None or name in self._exact:
            return found
        wild = (rule for rule in self.rules if rule.name.endswith("*"))
        return next((rule for rule in wild if name.startswith(rule.name[:-1])), None)
