"""Decodes what an API server says, however deep an object in it is nested.

Called by `client` and by the responses that kopf reads. Python's decoder gives up at about a thousand
levels, and with it on the whole list that has one such object. An API server accepts ten thousand levels
where a field is kept as it comes: in objects that were stored under an older definition of their kind,
and in `managedFields` of any object. No field that Lithify reads is that deep, so what is deeper is cut
off.
"""

from __future__ import annotations

import json
import re
from typing import Any

DEEPEST = 100
"""Levels of an answer that are kept. Our own kinds have fewer than 30, and lists add three."""
_MARKS = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)
_OPENING = (b"[", b"{")
_CLOSING = (b"]", b"}")


def decode(text: bytes | str) -> Any:
    """The value that a JSON text stands for; what is nested deeper than `DEEPEST` levels may be null.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        return json.loads(text)
    except RecursionError:
        return json.loads(shallow(text.encode() if isinstance(text, str) else text))


def may_be_deep(text: bytes) -> bool:
    """Whether a JSON text opens so many lists and maps that it could be too deep; cheap to tell."""
    return text.count(b"[") + text.count(b"{") > DEEPEST


def shallow(text: bytes) -> bytes:
    """A JSON text with null for each value below `DEEPEST` levels; a text that is no JSON stays none."""
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
