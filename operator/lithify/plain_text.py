"""Makes untrusted text safe to show: without characters that steer a terminal, hide or reorder text. Pure.

Called before a text reaches a status, an Event, a log or a terminal. Tables, catalogs, stores and tenants
choose names and error texts, and `kubectl` prints conditions and Events as they are.
"""

from __future__ import annotations

import re

ELLIPSIS = "…"
"""Marks the end of a text that was cut."""

_INVISIBLE = "\u200b\u2060-\u2064\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f"
"""Invisible characters, which can make different names look equal. The joiners U+200C and U+200D are not
included: some scripts need them."""
_BIDIRECTIONAL = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Characters that change the order in which a terminal shows the following text."""
_LINE_SEPARATORS = "\u2028\u2029"
_SURROGATES = "\ud800-\udfff"
_REFUSED = re.compile(rf"[\x00-\x1f\x7f-\x9f{_BIDIRECTIONAL}{_LINE_SEPARATORS}{_INVISIBLE}{_SURROGATES}]")
_BREAKS = frozenset(f"\t\n\r\v\f\x85{_LINE_SEPARATORS}")
_WHITESPACE = re.compile(rf"[ \t\n\r\v\f\x85{_LINE_SEPARATORS}]+")
_BASIC_PLANE = 0xFFFF


_CHANCE = (
    re.compile(r"\bat 0x[0-9a-fA-F]+"),
    re.compile(r"[\s,;(]*\b(?:x-)?request[-_ ]?id\b[\s:=]+[^\s,;)]+\)?", re.IGNORECASE),
    re.compile(r"[\s,;(]*\b(?:duration|elapsed|took)[\s:=]+[0-9.]+ ?(?:ms|s)\b\)?", re.IGNORECASE),
    re.compile(r"(?<=\d):\d{1,5}(?=->)"),
)
"""Addresses of objects in memory, ids of requests, durations, and client ports."""


def repeatable(text: str) -> str:
    """The text on one line, without parts that differ each time the same error occurs.

    An unchanged message is not written to status again, and people can compare it.
    """
    for pattern in _CHANCE:
        text = pattern.sub("", text)
    return " ".join(text.split())


def plain_line(text: str, limit: int) -> str:
    r"""The text on one line of at most `limit` characters; idempotent.

    Line breaks and tabs, with the blanks around them, become one space; every other control, bidirectional or
    invisible character and every lone surrogate becomes its escape, for example `\x1b`, so that different
    names still look different.
    """
    line = _escaped(_WHITESPACE.sub(_joined, text[:limit]))
    return cut(line, limit) if len(text) <= limit else line[: max(0, limit - 1)] + ELLIPSIS[:limit]


def plain_lines(text: str) -> str:
    """The same for a text of several lines and any length: its line breaks and tabs remain."""
    return "".join(part if part in ("\n", "\t") else _escaped(part) for part in re.split(r"([\n\t])", text))


def json_escaped(text: str) -> str:
    """Equivalent JSON whose strings hold none of these characters.

    Line breaks stay: in JSON they are between strings only.
    """
    return _REFUSED.sub(lambda found: _json_escape(found.group()), text)


def cut(text: str, limit: int) -> str:
    """The text with at most `limit` characters; a cut text ends with an ellipsis."""
    return text if len(text) <= limit else text[: max(0, limit - 1)] + ELLIPSIS[:limit]


def _joined(found: re.Match[str]) -> str:
    return found.group() if _BREAKS.isdisjoint(found.group()) else " "


def _escaped(text: str) -> str:
    return _REFUSED.sub(lambda found: _escape(found.group()), text)


def _escape(letter: str) -> str:
    return (
        letter.encode("ascii", "backslashreplace").decode() if ord(letter) > 0x7F else f"\\x{ord(letter):02x}"
    )


def _json_escape(letter: str) -> str:
    code = ord(letter)
    if letter == "\n":
        return letter
    if code <= _BASIC_PLANE:
        return f"\\u{code:04x}"
    pair = letter.encode("utf-16-be").hex()
    return f"\\u{pair[:4]}\\u{pair[4:]}"
