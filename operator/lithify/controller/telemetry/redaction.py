"""Keeps credentials out of what is written: known ones by their value, others by the name that they go by.

Called by `logs`; the values come from whoever reads Secrets. A value is known in the forms in which it
travels: as it is, line by line, escaped, percent-encoded, and in base64, also as a part of more.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from urllib.parse import quote

REDACTED = "[redacted]"
LONG = 6
"""Values of so many characters are removed wherever they occur. Shorter ones are words by chance, too."""
SHORT = 3
"""Values of so many are removed where they stand alone; still shorter ones only beside a telling name."""
_MOST_PASSES = 8
"""What a gap uncovers is rarely more than a word beside it."""
_MOST_VALUES = 10_000
"""Of credentials that are renewed for ever, the oldest are forgotten."""

_NAME = (
    r"(?:pass(?:word|wd|phrase)|pwd|secret|token|credential|authorization|cookie|signature|\bsig\b"
    r"|(?:access|account|api|private|shared|encryption)[-_.]?key)"
)
_TELLING = re.compile(_NAME, re.IGNORECASE)
_NAMED = re.compile(
    rf"""({_NAME}[\w.\-]{{0,64}}["']?\s{{0,4}}[=:]\s{{0,4}}(?:(?:Bearer|Basic)\s+)?)"""
    rf"""(?:"[^"]*"|'[^']*'|(?:{re.escape(REDACTED)}|[^\s"',;&)}}\]])+)""",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"\b(Bearer|Basic)\s+[\w+/=.~\-]{8,}", re.IGNORECASE)
_USER = re.compile(r"(://)[^/\s:@]{0,256}:[^/\s@]{1,1024}@")


def is_telling(name: str) -> bool:
    """Whether a field of that name is likely to hold a credential."""
    return _TELLING.search(name) is not None


class Secrets:
    """The values that must not be written anywhere."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[str, ...]] = {}
        self._long: tuple[str, ...] = ()
        self._short: re.Pattern[str] | None = None

    def register(self, values: Iterable[str | bytes]) -> None:
        """Takes values in, for as long as the process lives."""
        new = False
        for value in values:
            text = value.decode(errors="replace") if isinstance(value, bytes) else value
            kept = self._values.pop(text, None)
            new = new or kept is None
            self._values[text] = tuple(dict.fromkeys(_forms(text))) if kept is None else kept
        if new:
            while len(self._values) > _MOST_VALUES:
                del self._values[next(iter(self._values))]
            self._sort_out()

    def redact(self, text: str) -> str:
        """The text without any value; what was there shows as `REDACTED`. Doing it again changes nothing."""
        found = self._once(text)
        for _ in range(_MOST_PASSES):
            again = self._once(found)
            if again == found:
                break
            found = again
        else:
            found = REDACTED
        # What stands around a gap may be a value again, and so may the word that fills it.
        return next(shown for shown in (found, REDACTED, "") if not self._holds(shown))

    def _once(self, text: str) -> str:
        covered = _NAMED.sub(rf"\1{REDACTED}", self._cover(text))
        covered = _SCHEME.sub(rf"\1 {REDACTED}", covered)
        return _USER.sub(rf"\1{REDACTED}@", covered)

    def _holds(self, text: str) -> bool:
        return any(value in text for value in self._long)

    def _cover(self, text: str) -> str:
        """Fills all stretches that a value covers, overlapping ones as one."""
        parts: list[str] = []
        end = 0
        for start, stop in sorted(self._stretches(text)):
            if start >= end:
                parts += [text[end:start], REDACTED]
            end = max(end, stop)
        return "".join([*parts, text[end:]])

    def _stretches(self, text: str) -> Iterator[tuple[int, int]]:
        for value in self._long:
            at = text.find(value)
            while at >= 0:
                yield at, at + len(value)
                at = text.find(value, at + 1)
        if self._short is not None:
            yield from (match.span() for match in self._short.finditer(text))

    def _sort_out(self) -> None:
        forms = {form for found in self._values.values() for form in found}
        self._long = tuple(form for form in forms if len(form) >= LONG)
        short = [re.escape(form) for form in forms if SHORT <= len(form) < LONG]
        self._short = re.compile(rf"(?<![^\W_])(?:{'|'.join(short)})(?![^\W_])") if short else None


def _forms(value: str) -> Iterator[str]:
    """How a value may be written."""
    stripped = value.strip()
    yield stripped
    if len(stripped) < LONG:
        return
    yield value
    yield from (line.strip() for line in stripped.splitlines() if len(line.strip()) >= LONG)
    for text in dict.fromkeys((value, stripped)):
        yield from (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1])
        data = text.encode(errors="surrogatepass")
        yield from (quote(data), quote(data, safe=""))
        yield from (form for form in _encoded(data) if len(form) >= LONG + 2)


def _encoded(data: bytes) -> Iterator[str]:
    """What base64 makes of data wherever it stands in more: the characters that depend on nothing else."""
    for before, first in ((0, 0), (1, 2), (2, 3)):
        whole = b64encode(bytes(before) + data).decode().rstrip("=")
        last = (before + len(data)) * 8 // 6
        yield from (whole[first:last], whole[first:last].replace("+", "-").replace("/", "_"))
