"""Applies rules to settings: fields of a policy, options of tables, and a note on each setting. Pure.

Called by `importer`. A setting that has a field and an option becomes the field if all tables that are named
say the same, because a policy is for all of its tables; else it becomes an option of its table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lithify.formats.iceberg.importing.amoro_rules import FULL_INTERVAL, LEAST_INTERVAL
from lithify.formats.iceberg.importing.conversions import NotInField
from lithify.formats.iceberg.importing.rules import OptionRule
from lithify.formats.protocol.importing import FieldValue, ImportedSettings, ImportedTable, ImportNote

_MOST_OPTIONS, _LONGEST_OPTION = 32, 1024
"""Bounds of `spec.tableOptions` of a LakeTable."""
UNKNOWN = "unknown to this release: nothing was made of it"


@dataclass(frozen=True, slots=True)
class TableName:
    """A table: its catalog as the source calls it, empty for unknown, and `database.table`."""

    catalog: str
    identifier: str


@dataclass(frozen=True, slots=True)
class Given:
    """A setting as it was given.

    Attributes:
        source: where, for notes.
        statement: which statement, from 0; settings of one statement belong together.
        table: the table that it is about; None if that is unknown.
        name: the setting.
        value: its value, as written.
        rule: what it becomes; None if this release does not know it.
        says: what a note says of a setting without a rule.
    """

    source: str
    statement: int
    table: TableName | None
    name: str
    value: str
    rule: OptionRule | None
    says: str = UNKNOWN


@dataclass(frozen=True, slots=True)
class _Read:
    """A setting with its converted value: for the field, for the option; None where there is none."""

    given: Given
    rule: OptionRule
    field: FieldValue | None
    option: str | None
    problem: str = ""


@dataclass(slots=True)
class _Draft:
    """What has been placed so far: values by paths of fields, and those of each table."""

    policy: dict[str, FieldValue]
    tables: dict[TableName, dict[str, FieldValue]]
    options: dict[TableName, dict[str, str]]

    def place(self, table: TableName | None, path: str, value: FieldValue) -> str:
        """Sets a field of the policy, or of a table; returns what is said of an earlier, different value.

        Of two numbers the larger one stays: they are ages and intervals.
        """
        fields = self.policy if table is None else self.tables[table]
        earlier = fields.setdefault(path, value)
        if earlier == value or isinstance(value, Mapping):
            return ""
        if isinstance(earlier, int) and isinstance(value, int):
            fields[path] = max(earlier, value)
            return f"; of {earlier} and {value} the larger counts"
        return f"; not set, because {earlier} was said before"

    def place_option(self, table: TableName, name: str, value: str) -> str:
        """Sets an option of a table; returns why not, if an earlier one or a bound prevents it."""
        options = self.options[table]
        if options.get(name, value) != value:
            return f"; not set, because an earlier statement for this table says {options[name]}"
        if len(value) > _LONGEST_OPTION or (len(options) >= _MOST_OPTIONS and name not in options):
            return f"; not set, because it is too long, or one of more than {_MOST_OPTIONS}"
        options[name] = value
        return ""


def mapped(origin: str, given: Sequence[Given]) -> ImportedSettings:
    """What settings become."""
    tables = list(dict.fromkeys(each.table for each in given if each.table is not None))
    draft = _Draft({}, {table: {} for table in tables}, {table: {} for table in tables})
    readings = [_read(each, given) for each in given]
    converted = [each for each in readings if isinstance(each, _Read)]
    shared, uneven = _shared(converted, len(tables)), _uneven(converted, len(tables))
    notes = [
        each if isinstance(each, ImportNote) else _placed(each, draft, shared, uneven) for each in readings
    ]
    notes += _corrected(draft.policy)
    return ImportedSettings(
        origin, _nested(draft.policy), tuple(_imported(table, draft) for table in tables), tuple(notes)
    )


def _read(given: Given, others: Iterable[Given]) -> _Read | ImportNote:
    """Converts a setting; a note if it becomes nothing."""
    rule = given.rule
    if rule is None:
        return _note(given, given.says)
    if rule.needs is not None and not _has(others, given.statement, *rule.needs):
        name, value = rule.needs
        return _note(given, f"nothing to set without {name} = {value}")
    try:
        converted = rule.convert(given.value)
    except NotInField as error:
        return _Read(given, rule, None, given.value.strip(), str(error))
    except ValueError as error:
        return _note(given, f"not imported: {error}" + (f"; {rule.note}" if rule.note else ""))
    if converted is None:
        return _note(given, rule.as_is)
    if not (rule.field or rule.option or rule.property):
        return _note(given, rule.note)
    return _Read(given, rule, converted if rule.field else None, _option_text(given, rule, converted))


def _has(others: Iterable[Given], statement: int, name: str, value: str) -> bool:
    return any(
        each.rule is not None and each.rule.name == name and each.value.strip().lower() == value
        for each in others
        if each.statement == statement
    )


def _option_text(given: Given, rule: OptionRule, value: FieldValue) -> str | None:
    """Options have the units of the programs they come from, so where there is a field the text stays."""
    if rule.field:
        return given.value.strip() if rule.option else None
    return str(value)


def _shared(readings: Sequence[_Read], tables: int) -> frozenset[str]:
    """The options that all tables set, to the same value."""
    found: dict[str, dict[TableName | None, set[FieldValue | None]]] = {}
    for each in readings:
        if each.rule.option and not isinstance(each.field, Mapping):
            found.setdefault(each.rule.option, {}).setdefault(each.given.table, set()).add(each.field)
    return frozenset(
        name
        for name, by_table in found.items()
        if len(by_table) >= tables and len(set().union(*by_table.values())) == 1
    )


def _uneven(readings: Sequence[_Read], tables: int) -> frozenset[str]:
    """The fields of the policy that only some of the tables ask for."""
    asking: dict[str, set[TableName | None]] = {}
    for each in readings:
        if each.rule.field and not each.rule.option and not each.rule.is_of_table:
            asking.setdefault(each.rule.field, set()).add(each.given.table)
    return frozenset(field for field, by in asking.items() if len(by) < tables)


def _placed(read: _Read, draft: _Draft, shared: frozenset[str], uneven: frozenset[str]) -> ImportNote:
    given, rule = read.given, read.rule
    if rule.property:
        return _property_note(read)
    table = given.table
    is_of_policy = table is None or (not rule.is_of_table and (not rule.option or rule.option in shared))
    if read.field is not None and (is_of_policy or not rule.option):
        owner = None if is_of_policy else table
        said = draft.place(owner, rule.field, read.field)
        if rule.field in uneven:
            said += ", and so for all tables that follow it"
        return _note(given, _said(f"spec.{rule.field}", owner, rule.note, said))
    if table is not None and read.option is not None:
        said = draft.place_option(table, rule.option, read.option) if rule.option else ""
        if rule.option:
            return _note(given, _said(f'spec.tableOptions["{rule.option}"]', table, rule.note, said))
    reason = f"{read.problem}; " if read.problem else ""
    place = f'spec.tableOptions["{rule.option}"] of a LakeTable can have it' if rule.option else "left out"
    return _note(given, f"not imported: {reason}{place}")


def _said(place: str, table: TableName | None, note: str, said: str) -> str:
    owner = "the policy" if table is None else f"the LakeTable {table.identifier}"
    return f"{place} of {owner}{said}" + (f"; {note}" if note else "")


def _property_note(read: _Read) -> ImportNote:
    table = read.given.table
    parts = (table.catalog, *table.identifier.split(".")) if table else ("database", "table")
    name = ".".join(f"`{part}`" if not part.isidentifier() else part for part in parts if part)
    statement = f"ALTER TABLE {name} SET TBLPROPERTIES ('{read.rule.property}' = '{read.option}')"
    return _note(read.given, f"a property of the table, for its owner to set; {read.rule.note}", statement)


def _note(given: Given, meaning: str, statement: str = "") -> ImportNote:
    return ImportNote(given.source, given.name, given.value, meaning, statement)


def _corrected(policy: dict[str, FieldValue]) -> list[ImportNote]:
    """Takes out what the rules of a policy refuse: an interval between runs that delays full compactions."""
    least, full = policy.get(LEAST_INTERVAL), policy.get(FULL_INTERVAL)
    if not (isinstance(least, int) and isinstance(full, int) and least > full):
        return []
    del policy[LEAST_INTERVAL]
    meaning = f"left out: {least} s between runs would delay full compactions, which are due each {full} s"
    return [ImportNote("the policy", f"spec.{LEAST_INTERVAL}", str(least), meaning)]


def _imported(table: TableName, draft: _Draft) -> ImportedTable:
    spec = _nested(draft.tables[table])
    if draft.options[table]:
        spec["tableOptions"] = draft.options[table]
    return ImportedTable(table.catalog, table.identifier, spec)


def _nested(fields: Mapping[str, FieldValue]) -> dict[str, FieldValue]:
    """Values by paths as objects in objects; a path of an object only makes sure that it exists."""
    found: dict[str, FieldValue] = {}
    for path, value in fields.items():
        *parents, last = path.split(".")
        level = found
        for parent in parents:
            inner = level.setdefault(parent, {})
            if not isinstance(inner, dict):
                raise TypeError(f"{path} has a value for {parent}")
            level = inner
        if isinstance(value, Mapping):
            level.setdefault(last, dict(value))
        else:
            level[last] = value
    return found
