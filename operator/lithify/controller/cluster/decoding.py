"""Decodes JSON of an API server, however deep an object in it is nested.

Called by `client` and by the responses that kopf reads. Python's decoder fails at about a thousand levels,
and one such object fails the whole list. An API server accepts ten thousand levels where a schema preserves
unknown fields: in objects stored under an older definition of their kind, and in `managedFields` of any
object. No field that Lithify reads is that deep, so deeper values are cut off.
"""

from __future__ import annotations

import json
import re
from typing import Any

DEEPEST = 100
"""Levels of a response that are kept. Our own kinds have fewer than 30, and lists add three."""
_MARKS = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)
_OPENING = (b"[", b"{")
_CLOSING = (b"]", b"}")


def decode(text: bytes | str) -> Any:
    """Decodes a JSON text; values nested deeper than `DEEPEST` levels may become null.

    Raises:
        ValueError: the text is not JSON.
    """
    try:
        return json.loads(text)
    except RecursionError:
        return json.loads(shallow(text.encode() if isinstance(text, str) else text))


def may_be_deep(text: bytes) -> bool:
    """Whether a JSON text opens enough lists and maps to be too deep; a cheap upper bound."""
    return text.count(b"[") + text.count(b"{") > DEEPEST


def shallow(text: bytes) -> bytes:
    """Replaces each value of a JSON text below `DEEPEST` levels by null; invalid text stays invalid."""
    kept: list[bytes] = []
    depth = begin = since = 0
    for mark in _MARKS.finditer(text):
        if mark[0] in _OPENING:
            depth += 1
            if depth == DEEPEST + 1:
                since = mark.start()
        elif mark[0] in _CLOSING:
            depth -= 1
            if depth == DEEPEST:
                kept += [text[begin:since], b"null"]
                begin = mark.end()
    kept.append(text[begin:] if depth <= DEEPEST else text[begin:since])
    return b"".join(kept)
