"""Partitions as the seam has them: typed values, and how the texts of users are read. Pure.

Days, times and timestamps are numbers here, as manifests store them; a transform's result is read in the
spelling of its paths, so `2026-01` is a month and `2026-01-31-23` an hour.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from uuid import UUID

from lithify.formats.iceberg.model import Partition, PartitionValue
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.partition_paths import NULL_TEXT
from lithify.formats.iceberg.table.partition_paths import PartitionSpec as StoredSpec
from lithify.formats.iceberg.table.partition_specs import partition_fields
from lithify.formats.protocol import partition_texts
from lithify.formats.protocol.partition import PartitionField, PartitionSpec, PartitionValues, Scalar

_EPOCH_DAY = date(1970, 1, 1)
_SECOND_MICROS = 1_000_000
_MICRO_NANOS = 1000
_DAY_HOURS = 24
_YEAR = re.compile(r"-?[0-9]{4,6}")
_MONTH = re.compile(r"([0-9]{4,6})-([0-9]{2})")
_HOUR = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})-([0-9]{2})")
_HEXADECIMAL = re.compile(r"(?:[0-9a-fA-F]{2})*")
_UTC = re.compile(r"(?:\+00:00|Z)$")
_MOST_MONTH, _MOST_HOUR = 12, 23


def seam_spec(metadata: TableMetadata, spec_id: int, stored: StoredSpec) -> PartitionSpec:
    """A spec of a table as the seam has it.

    Raises:
        CorruptTable: the spec does not fit the schema.
    """
    types = [kind for _, _, kind in partition_fields(metadata, spec_id)]
    fields = tuple(
        PartitionField(each.name, kind.upper(), parser_of(each.transform, kind), each.transform)
        for each, kind in zip(stored.fields, types, strict=True)
    )
    return PartitionSpec(spec_id, fields, NULL_TEXT)


def seam_values(spec: PartitionSpec, stored: StoredSpec, partition: Partition) -> PartitionValues:
    """A partition as the seam has it."""
    return PartitionValues(spec, tuple(map(scalar_of, partition.values)), stored.texts(partition))


def scalar_of(value: PartitionValue) -> Scalar:
    """A value that compares with what `parser_of` reads."""
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        whole = moment.replace(microsecond=0)
        return int(whole.timestamp()) * _SECOND_MICROS + moment.microsecond
    if isinstance(value, date):
        return (value - _EPOCH_DAY).days
    if isinstance(value, time):
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return seconds * _SECOND_MICROS + value.microsecond
    return value


def parser_of(transform: str, kind: str) -> Callable[[str], Scalar]:
    """Reads what a user writes for a field; raises ValueError if a text is no value of it.

    Args:
        transform: the field's transform.
        kind: Iceberg's name of the type of its values.
    """
    if transform in _OF_TRANSFORMS:
        return _OF_TRANSFORMS[transform]
    root = re.split(r"[(\[]", kind)[0]
    return _OF_TYPES.get(root, str)


def _nothing(text: str) -> Scalar:
    """Fields of the transform `void` are always null."""
    raise ValueError(text)


def _year(text: str) -> int:
    if _YEAR.fullmatch(text) is None:
        raise ValueError(text)
    return int(text) - _EPOCH_DAY.year


def _month(text: str) -> int:
    year, month = _groups(_MONTH, text)
    if not 1 <= int(month) <= _MOST_MONTH:
        raise ValueError(text)
    return (int(year) - _EPOCH_DAY.year) * _MOST_MONTH + int(month) - 1


def _hour(text: str) -> int:
    day, hour = _groups(_HOUR, text)
    if int(hour) > _MOST_HOUR:
        raise ValueError(text)
    return partition_texts.read_date(day) * _DAY_HOURS + int(hour)


def _groups(pattern: re.Pattern[str], text: str) -> Sequence[str]:
    found = pattern.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return found.groups()


def _float(text: str) -> float:
    """A number of 32 bits."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", partition_texts.read_float(text)))[0])
    except OverflowError as error:
        raise ValueError(text) from error


def _micros(nanos: int) -> int:
    micros, rest = divmod(nanos, _MICRO_NANOS)
    if rest:
        raise ValueError(nanos)
    return micros


def _time(text: str) -> int:
    return _micros(partition_texts.read_time(text))


def _timestamp(text: str) -> int:
    return _micros(_nanos(text))


def _nanos(text: str) -> int:
    """Times with a zone are in UTC, as paths have them."""
    return partition_texts.read_timestamp(_UTC.sub("", text))


def _bytes(text: str) -> bytes:
    if _HEXADECIMAL.fullmatch(text) is None:
        raise ValueError(text)
    return bytes.fromhex(text)


def _decimal(text: str) -> Decimal:
    return partition_texts.read_decimal(text)


_OF_TRANSFORMS: dict[str, Callable[[str], Scalar]] = {
    "void": _nothing,
    "year": _year,
    "month": _month,
    "day": partition_texts.read_date,
    "hour": _hour,
}
_OF_TYPES: dict[str, Callable[[str], Scalar]] = {
    "boolean": partition_texts.read_boolean,
    "int": partition_texts.read_integer,
    "long": partition_texts.read_integer,
    "float": _float,
    "double": partition_texts.read_float,
    "decimal": _decimal,
    "date": partition_texts.read_date,
    "time": _time,
    "timestamp": _timestamp,
    "timestamptz": _timestamp,
    "timestamp_ns": _nanos,
    "timestamptz_ns": _nanos,
    "uuid": UUID,
    "fixed": _bytes,
    "binary": _bytes,
}
