"""Reads CALL statements of Spark, or a table's properties with those of Amoro, as policies and table options.

Opened by `formats.registry` for `lithify import`. Opens no table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from lithify.errors import InvalidOption
from lithify.formats.iceberg.importing.amoro_rules import AMORO_DEFAULTS, AMORO_RULES, KEYED_NOTES
from lithify.formats.iceberg.importing.calls import Call, OtherStatement, Value, parse_calls
from lithify.formats.iceberg.importing.mapping import Given, TableName, mapped
from lithify.formats.iceberg.importing.procedure_rules import (
    BRANCH,
    OPTIONS,
    PROCEDURES,
    REWRITE,
    TABLE,
    Procedure,
)
from lithify.formats.iceberg.importing.property_texts import Property, parse_properties
from lithify.formats.iceberg.planning.options import MAX_SIZE, MIN_SIZE, TARGET_SIZE, planning_options
from lithify.formats.protocol.importing import ImportedSettings

_CALL = re.compile(r"(?:^|;)[ \t]*(?:/\*[^\n]*?\*/[ \t]*)?call\s+[\w`-]+\s*\.", re.IGNORECASE | re.MULTILINE)
_IDENTIFIER = re.compile(r"[^.\s/$]+(\.[^.\s/$]+)+(\$branch_[^\s/$]+)?")
_BRANCH_SUFFIX = re.compile(r"\.branch_([^.]+)$")
_MAIN = "main"
_FOR_TABLES = "table."
_OF_AMORO = "self-optimizing."
_LONGEST_IDENTIFIER = 512
_SHOWN = 60


def import_settings(text: str, table: str | None = None) -> ImportedSettings | None:
    """What the settings in a text become; None if it has neither CALL statements nor properties.

    Args:
        text: SQL, or properties.
        table: the table whose properties these are; CALL statements name theirs themselves.

    Raises:
        InvalidOption: a statement or line cannot be read, or a value is invalid; the message has the place.
    """
    if _CALL.search(text):
        if table is not None:
            raise InvalidOption("table", "the CALL statements name their tables themselves")
        return _of_calls(parse_calls(text))
    found = parse_properties(text)
    return _of_properties(found, table) if found else None


def _of_calls(statements: tuple[Call | OtherStatement, ...]) -> ImportedSettings:
    calls = sum(isinstance(each, Call) for each in statements)
    given = [
        setting
        for place, each in enumerate(statements)
        for setting in (_of_call(place, each) if isinstance(each, Call) else _of_other(place, each))
    ]
    return mapped(f"{calls} CALL statement{'s' if calls != 1 else ''}", given)


def _of_other(place: int, statement: OtherStatement) -> Iterator[Given]:
    text = " ".join(statement.text[:_SHOWN].split())
    says = "it is no CALL statement: nothing was made of it"
    yield Given(f"line {statement.line}", place, None, text, "", None, says)


def _of_call(place: int, call: Call) -> Iterator[Given]:
    """The settings of a statement: the call itself, its arguments, and the entries of its options."""
    name = call.procedure[-1].lower()
    procedure = PROCEDURES.get(name)
    if procedure is None:
        says = f"no counterpart: lithify import knows {', '.join(PROCEDURES)}"
        yield Given(f"line {call.line}", place, None, ".".join(call.procedure), "", None, says)
        return
    arguments = _arguments(procedure, call)
    table = _table(call, arguments)
    source = f"line {call.line}, {name} of {table.identifier}"
    yield Given(source, place, table, name, "", procedure.rules.of(name))
    for argument, value in arguments.items():
        if argument == OPTIONS and isinstance(value, Mapping):
            _check(name, value, source)
            for option, text in value.items():
                known = procedure.rules.of(option) if option in procedure.option_names else None
                yield Given(source, place, table, option, text, known)
        elif argument not in {TABLE, BRANCH}:
            known = None if argument in procedure.option_names else procedure.rules.of(argument)
            yield Given(source, place, table, argument, _shown(value), known)


def _arguments(procedure: Procedure, call: Call) -> Mapping[str, Value]:
    """All arguments by name."""
    if len(call.positional) > len(procedure.parameters):
        problem = f"{procedure.name} has at most {len(procedure.parameters)} arguments"
        raise InvalidOption(f"line {call.line}", problem)
    by_place = dict(zip(procedure.parameters, call.positional, strict=False))
    twice = by_place.keys() & call.named.keys()
    if twice:
        raise InvalidOption(f"line {call.line}", f"the argument {min(twice)} is there twice")
    return {**by_place, **call.named}


def _table(call: Call, arguments: Mapping[str, Value]) -> TableName:
    """The table of a call, without its catalog; a branch of it as a LakeTable names it."""
    named = arguments.get(TABLE, "")
    text = "" if isinstance(named, Mapping) else named.strip().replace("`", "")
    catalog = call.procedure[0] if len(call.procedure) > 2 else ""  # catalog.system.name
    if catalog and text.count(".") > 1:
        text = text.removeprefix(f"{catalog}.")
    branch = arguments.get(BRANCH, "")
    text = _BRANCH_SUFFIX.sub(r"$branch_\1", text)
    if isinstance(branch, str) and branch not in {"", _MAIN}:
        text += f"$branch_{branch}"
    return TableName(catalog, _identified(text, f"line {call.line}"))


def _identified(text: str, place: str) -> str:
    if not _IDENTIFIER.fullmatch(text) or len(text) > _LONGEST_IDENTIFIER:
        raise InvalidOption(place, f"a table has to be named as database.table, not '{text[:_SHOWN]}'")
    return text


def _shown(value: Value) -> str:
    if isinstance(value, str):
        return value
    return ", ".join(f"{key} = {text}" for key, text in value.items())


def _check(procedure: str, options: Mapping[str, str], source: str) -> None:
    """Refuses values that Iceberg would refuse. Sizes are compared only where the target size is known."""
    if procedure != REWRITE:
        return
    unknown = () if TARGET_SIZE in options else (MIN_SIZE, MAX_SIZE)
    try:
        planning_options({name: text for name, text in options.items() if name not in unknown}, {})
    except InvalidOption as error:
        raise InvalidOption(source, str(error)) from error


def _of_properties(found: tuple[Property, ...], table: str | None) -> ImportedSettings:
    named = None if table is None else TableName("", _identified(table, "table"))
    is_keyed = any(map(_is_of_keyed_table, found))
    source = "keyed table" if is_keyed else "properties"
    source += f" {table}" if is_keyed and table else f" of {table}" if table else ""
    given = [_of_property(each, source, named, is_keyed=is_keyed) for each in found]
    if not is_keyed:
        given += _of_defaults({_name_for_tables(each.name) for each in found}, named)
    return mapped(f"{len(found)} {'property' if len(found) == 1 else 'properties'}", given)


def _is_of_keyed_table(found: Property) -> bool:
    """Whether it is a property that only tables of Amoro's own formats have."""
    is_mixed = found.name == "table-format" and found.value.upper().startswith("MIXED")
    return is_mixed or found.name.startswith("mixed-format.")


def _of_property(found: Property, source: str, table: TableName | None, *, is_keyed: bool) -> Given:
    name = _name_for_tables(found.name)
    says = KEYED_NOTES.get(name) if is_keyed else None
    if says is not None:
        return Given(source, 0, table, found.name, found.value, None, says)
    return Given(source, 0, table, found.name, found.value, AMORO_RULES.of(name))


def _name_for_tables(name: str) -> str:
    """The property of tables that one of an Amoro catalog sets: there, its name begins with `table.`."""
    bare = name.removeprefix(_FOR_TABLES)
    return name if AMORO_RULES.of(bare) is None else bare


def _of_defaults(names: set[str], table: TableName | None) -> Iterator[Given]:
    """What Amoro does by default, and Lithify does not: only where a table has properties of Amoro."""
    if any(name.startswith(_OF_AMORO) for name in names):
        for name, says in AMORO_DEFAULTS.items():
            if name not in names:
                yield Given("defaults of Amoro", 0, table, name, "", None, says)
