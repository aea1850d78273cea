"""Scalars: converts columns of numbers, texts and the like to variants, and back.

Called by `joining`, `shredding` and `inference`. A number becomes the shortest variant that holds it, as in
Paimon's `GenericVariantBuilder`; a variant goes into the columns that `VariantShreddingWriter` allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.octets import decimal_words, fixed_octets
from lithify.files.variants.binary import (
    Bytes,
    Ints,
    Mask,
    Spans,
    bits_of,
    put,
    spans_of,
    united,
    validity,
    words,
)
from lithify.files.variants.encoding import PREFIX, Malformed, VariantKind

_MOST_SHORT = 63
_TRUE, _FALSE = 1, 2
_INT1, _INT8 = 3, 6
_DECIMAL4 = 8
_BINARY, _LONG_STRING = 15, 16
_DIGITS = 38
_FIXED = {
    pa.float64(): (7, 8),
    pa.date32(): (11, 4),
    pa.timestamp("us", tz="UTC"): (12, 8),
    pa.timestamp("us"): (13, 8),
    pa.float32(): (14, 4),
}
"""Types whose values are stored unchanged: header type and width."""
_KINDS = {
    pa.float64(): VariantKind.DOUBLE,
    pa.float32(): VariantKind.FLOAT,
    pa.date32(): VariantKind.DATE,
    pa.timestamp("us", tz="UTC"): VariantKind.TIMESTAMP,
    pa.timestamp("us"): VariantKind.TIMESTAMP_NTZ,
}


def as_variants(values: pa.Array) -> Spans:
    """A column as variants; nulls are missing.

    Raises:
        Malformed: the column's type has no variant form.
    """
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _bytes_as_variants(values, pa.types.is_string(kind))
    there = values.drop_null()
    if pa.types.is_boolean(kind):
        truths = np.where(there.to_numpy(zero_copy_only=False), _TRUE, _FALSE) << 2
        found = _fixed(truths, np.zeros((len(there), 0), np.uint8))
    elif pa.types.is_signed_integer(kind):
        found = _integers(there.cast(pa.int64()).to_numpy())
    elif pa.types.is_decimal128(kind):
        found = _decimals(there)
    elif kind in _FIXED:
        info, _ = _FIXED[kind]
        found = _fixed(np.full(len(there), info << 2), fixed_octets(there))
    else:
        raise Malformed(f"it is shredded into a column of {kind}")
    return found.spread(validity(values))


def _fixed(heads: Ints, rest: Bytes) -> Spans:
    """One header byte each, followed by the rows of `rest`."""
    data = np.concatenate([heads.astype(np.uint8)[:, None], rest], axis=1).reshape(-1)
    width = 1 + rest.shape[1]
    return Spans(data, np.arange(len(heads)) * width, np.full(len(heads), width))


def _integers(numbers: Ints) -> Spans:
    wide = numbers[:, None].view(np.uint8).reshape(-1, 8)
    sizes = np.full(len(numbers), 1)
    for bits in (8, 16, 32):
        sizes[(numbers < -(1 << bits - 1)) | (numbers >= 1 << bits - 1)] = bits // 4
    infos = _INT1 + np.log2(sizes).astype(np.int64)
    whole = _fixed(infos << 2, wide)
    return Spans(whole.data, whole.starts, 1 + sizes)


def _decimals(values: pa.Array) -> Spans:
    """Decimals of 4, 8 or 16 bytes, after the byte of their scale."""
    raw = fixed_octets(values)
    low, high = raw.view(np.int64)[:, 0], raw.view(np.int64)[:, 1]
    scale, fits = values.type.scale, high == low >> 63
    sizes = np.full(len(values), 16)
    for digits, size in ((18, 8), (9, 4)):
        if scale <= digits:
            sizes[fits & (low < 10**digits) & (low > -(10**digits))] = size
    infos = _DECIMAL4 + np.log2(sizes // 4).astype(np.int64)
    scales = np.full((len(values), 1), scale, np.uint8)
    whole = _fixed(infos << 2, np.concatenate([scales, raw], axis=1))
    return Spans(whole.data, whole.starts, 2 + sizes)


def _bytes_as_variants(values: pa.Array, is_text: bool) -> Spans:
    there = validity(values)
    texts = spans_of(values.drop_null() if values.null_count else values)
    is_short = (texts.sizes <= _MOST_SHORT) & is_text
    sizes = np.where(is_short, 1, PREFIX)
    starts = np.cumsum(sizes) - sizes
    heads = np.zeros(int(sizes.sum()), np.uint8)
    info = _LONG_STRING if is_text else _BINARY
    heads[starts] = np.where(is_short, texts.sizes << 2 | 1, info << 2)
    put(heads, starts + 1, texts.sizes, np.where(is_short, 0, 4))
    both = united([Spans(heads, starts, sizes), texts])
    count = len(texts)
    data = both.of(np.arange(2 * count).reshape(2, count).T.reshape(-1)).gathered()
    totals = sizes + texts.sizes
    return Spans(data, np.cumsum(totals) - totals, totals).spread(there)


def as_column(values: Spans, kinds: Bytes, target: pa.DataType) -> pa.Array:
    """Variants as a column of a type; null where the type cannot hold a variant exactly."""
    if pa.types.is_string(target) or pa.types.is_binary(target):
        return _texts(values, kinds, target)
    if pa.types.is_boolean(target):
        which = kinds == VariantKind.BOOLEAN
        truths = values.data[np.where(which, values.starts, 0)] == _TRUE << 2 if len(values.data) else which
        return _made(target, which, np.packbits(truths, bitorder="little"))
    if pa.types.is_decimal128(target):
        which, raw = _numbers(values, kinds, target.precision, target.scale)
        return _made(target, which, raw)
    if pa.types.is_signed_integer(target):
        return _whole_numbers(values, kinds, target)
    _, width = _FIXED[target]
    which = kinds == _KINDS[target]
    raw = np.zeros((len(values), width), np.uint8)
    raw[which] = words(values.data, values.starts[which] + 1, "u1", width)
    return _made(target, which, raw)


def _made(kind: pa.DataType, which: Mask, data: npt.NDArray[Any]) -> pa.Array:
    """A column of these bytes; null where `which` is false."""
    return pa.Array.from_buffers(kind, len(which), [bits_of(which), pa.py_buffer(data)])


def _texts(values: Spans, kinds: Bytes, target: pa.DataType) -> pa.Array:
    which = kinds == (VariantKind.STRING if pa.types.is_string(target) else VariantKind.BINARY)
    heads = values.data[np.where(which, values.starts, 0)] if len(values.data) else kinds
    before = np.where(heads & 3 == 1, 1, PREFIX)
    sizes = np.where(which, values.sizes - before, 0)
    return Spans(values.data, values.starts + before, sizes).to_arrow(target, nulls=~which)


def _whole_numbers(values: Spans, kinds: Bytes, target: pa.DataType) -> pa.Array:
    which, raw = _numbers(values, kinds, _DIGITS, 0)
    low, high = raw[:, 0], raw[:, 1]
    bound = np.iinfo(f"i{target.bit_width // 8}")
    which &= (high == low >> 63) & (low >= bound.min) & (low <= bound.max)
    return _made(target, which, low.astype(bound.dtype))


def longs_of(values: Spans, kinds: Bytes) -> Ints:
    """The integers among variants."""
    longs: Ints = _unscaled(values, kinds)[kinds == VariantKind.LONG, 0]
    return longs


def decimals_of(values: Spans, kinds: Bytes) -> Iterator[tuple[int, pa.Array]]:
    """The unscaled values of the decimals among variants, grouped by scale.

    Raises:
        Malformed: a scale is invalid.
    """
    raw, scales = _unscaled(values, kinds), _scales(values, kinds)
    for scale in np.unique(scales[kinds == VariantKind.DECIMAL]).tolist():
        yield scale, _decimal_column(raw[(kinds == VariantKind.DECIMAL) & (scales == scale)], 0)


def _numbers(values: Spans, kinds: Bytes, digits: int, scale: int) -> tuple[Mask, Ints]:
    """Which values are numbers that fit a precision and a scale, and 128 bits of each."""
    raw, scales = _unscaled(values, kinds), _scales(values, kinds)
    are_numbers = (kinds == VariantKind.LONG) | (kinds == VariantKind.DECIMAL)
    fit = np.zeros(len(values), np.bool_)
    for each in np.unique(scales[are_numbers]).tolist():
        which = np.flatnonzero(are_numbers & (scales == each))
        fit[which], raw[which] = _rescaled(raw[which], each, digits, scale)
    return fit, raw


def _unscaled(values: Spans, kinds: Bytes) -> Ints:
    """128 bits of each number; zeros for other values."""
    raw = np.zeros((len(values), 2), np.int64)
    for kind, first in ((VariantKind.LONG, 1), (VariantKind.DECIMAL, 2)):
        for width in (1, 2, 4, 8, 16):
            which = (kinds == kind) & (values.sizes == first + width)
            raw[which] = _wide(values.data, values.starts[which] + first, width)
    return raw


def _scales(values: Spans, kinds: Bytes) -> Ints:
    scales, decimals = np.zeros(len(values), np.int64), kinds == VariantKind.DECIMAL
    scales[decimals] = values.data[values.starts[decimals] + 1]
    if (scales > _DIGITS).any():
        raise Malformed("a decimal has more digits behind the point than in all")
    return scales


def _wide(data: Bytes, starts: Ints, width: int) -> Ints:
    """Signed numbers of `width` bytes as two 64-bit words, the lower one first."""
    if width == 16:
        return words(data, starts, "i8", 2)
    low = words(data, starts, f"i{width}", 1)[:, 0].astype(np.int64)
    return np.stack([low, low >> 63], axis=1)


def _rescaled(raw: Ints, before: int, digits: int, after: int) -> tuple[Mask, Ints]:
    """Decimals with another scale, and which of them are still equal."""
    most = digits - after + before
    numbers = _decimal_column(raw, before)
    fit = np.ones(len(raw), np.bool_)
    if most < _DIGITS:
        limit = pa.scalar(Decimal(10) ** max(most, 0), pa.decimal128(_DIGITS, 0))
        fit &= _mask(pc.less(pc.abs(_decimal_column(raw, 0)), limit))
    if after < before:
        whole = pc.round(numbers, ndigits=after, round_mode="towards_zero")
        fit &= _mask(pc.equal(whole, numbers))
    kept = _decimal_column(np.where(fit[:, None], raw, 0), before).cast(pa.decimal128(_DIGITS, after))
    return fit, decimal_words(kept)


def _mask(truths: pa.BooleanArray) -> Mask:
    return np.asarray(truths.to_numpy(zero_copy_only=False), np.bool_)


def _decimal_column(raw: Ints, scale: int) -> pa.Array:
    return pa.Array.from_buffers(
        pa.decimal128(_DIGITS, scale), len(raw), [None, pa.py_buffer(np.ascontiguousarray(raw))]
    )
