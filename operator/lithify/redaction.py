"""Removes credentials from texts: known ones by their value, others by the name beside them. Pure.

Used by the operator's logs and status, by observing workers, by drivers, and for refused options. Values
belong to one catalog: a `Redactor` is made from the options of one, and applied to texts about that catalog
only. It finds a value in its usual forms: unchanged, line by line, escaped, percent-encoded, and in base64,
also as a part of more.
"""

from __future__ import annotations

import json
import math
import re
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from urllib.parse import quote

REDACTED = "[redacted]"
SHORTEST = 8
"""Characters of the shortest value that is removed by its value. Shorter ones can be guessed, and occur as
words by chance, too; they are removed beside a telling name only."""
_FEWEST_DIFFERENT = 5
_LONG = 16
"""From this length on, a value of only letters or only digits counts as a secret."""
_CHUNK = 1024
"""Longer values are searched for in pieces of this number of characters."""
_MOST_LINES = 256
_MOST_TEXT = 1 << 16
"""Characters of a text that are redacted; shown texts are shorter."""
_MOST_PASSES = 8
"""Maximum number of passes; a removed value rarely uncovers more than a word beside it."""

_NAME = (
    r"(?:pass(?:word|wd|phrase)|pwd|secret|token|credential|authorization|cookie|signature|\bsig\b|keytab"
    r"|(?:access|account|api|private|shared|encryption)[-_.]?key|\bheader\.)"
)
_TELLING = re.compile(rf"{_NAME}|(?:^|\.)(?:ak|sk|sas)(?:$|\.)", re.IGNORECASE)
"""Names of fields and options; `ak`, `sk` and `sas` are missing because in running text they would be
words."""
_NAMED = re.compile(
    rf"""({_NAME}[\w.\-]{{0,64}}["']?\s{{0,4}}[=:]\s{{0,4}}(?:(?:Bearer|Basic)\s+)?)"""
    rf"""(?:"[^"]*"|'[^']*'|(?:{re.escape(REDACTED)}|[^\s"',;&)}}\]])+)""",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"\b(Bearer|Basic)\s+[\w+/=.~\-]{8,}", re.IGNORECASE)
_USER = re.compile(r"(://)[^/\s:@]{0,256}:[^/\s@]{1,1024}@")


def is_telling(name: str) -> bool:
    """Whether a field or option of that name is likely to hold a credential."""
    return _TELLING.search(name) is not None


_WITHIN = (
    re.compile(r"(?:password|pwd|secret|token|sig|signature)=([^&;\s]+)", re.IGNORECASE),
    re.compile(r"//[^/:@\s]*:([^/@\s]+)@"),
)
"""Credentials that are parts of a value, for example of a URI."""
_SHORTEST_WITHIN = 4
"""Shorter parts do not count as secrets: they would occur in many words."""


def credentials_in(options: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the secret values of catalog options, and secret parts of values; the longest first."""
    found = {value for name, value in options.items() if is_telling(name)}
    for value in options.values():
        for pattern in _WITHIN:
            found.update(pattern.findall(value))
    return tuple(sorted((each for each in found if len(each) >= _SHORTEST_WITHIN), key=len, reverse=True))


_KINDS = (str.islower, str.isupper, str.isdigit)
_CONTINENTS = "us|eu|ap|sa|ca|me|af|il|cn|mx|europe|asia|africa|australia|(?:north|south)america"
_REGION = re.compile(rf"(?:{_CONTINENTS})(?:-[a-z]{{2,12}}){{1,3}}-?\d{{0,2}}[a-z]?")
_WORDS = re.compile(r"[A-Za-z]?[a-z]+(?:[-_. ][A-Za-z]?[a-z]+)?|[A-Z]+(?:[-_. ][A-Z]+)?")
_LONGEST_WORDS = 20
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^@?]*", re.IGNORECASE)


Own = Callable[[], Collection[str]]


def names_of(identifier: str) -> tuple[str, ...]:
    """The forms of `namespace.table` in texts: whole, and in paths, but never one of its parts alone.

    A part alone may be a credential that a server quotes, and must then stay hidden.
    """
    name, _, branch = identifier.partition("$branch_")
    namespace, _, table = name.rpartition(".")
    nested = "/{}/".format(namespace.replace(".", "/"))
    return (identifier, f"/{namespace}.", f"{namespace}.db", nested, f"/{table}", f".{table}", f"-{branch}")


def looks_like_a_secret(value: str, ordinary: Iterable[str] = ()) -> bool:
    """Whether a value is removed wherever it occurs.

    Redaction must not let anyone test guesses of a value, nor hide common words. So a value counts only if it
    is long and varied enough, and is neither a word, two words, a number, a region, an address without a
    password, nor part of the `ordinary` texts that every reader may see.
    """
    text = value.strip()
    if len(text) < SHORTEST or len(set(text)) < _FEWEST_DIFFERENT:
        return False
    if text in REDACTED or (len(text) < _LONGEST_WORDS and _WORDS.fullmatch(text)):
        return False
    if _REGION.fullmatch(text) or _ADDRESS.fullmatch(text) or _is_number(text):
        return False
    kinds = sum(any(map(is_kind, text)) for is_kind in _KINDS) + any(not c.isalnum() for c in text)
    return (kinds > 1 or len(text) >= _LONG) and not any(text in other for other in ordinary)


class Redactor:
    """Removes the credentials of one catalog from texts.

    Args:
        values: possible credentials; those count for which `looks_like_a_secret` holds.
        ordinary: texts that every reader of the catalog's objects may see.
    """

    def __init__(self, values: Iterable[str] = (), ordinary: Collection[str] = ()) -> None:
        secrets = {value for value in values if looks_like_a_secret(value, ordinary)}
        forms = {form for value in secrets for piece in _pieces(value) for form in _forms(piece)}
        self._forms = tuple(form for form in forms if len(form) >= SHORTEST)
        self._reach = max(map(len, self._forms), default=0)

    def redact(self, text: str, own: Own = lambda: ()) -> str:
        """The text without any value; each is replaced by `REDACTED`. Idempotent.

        Of a very long text only the beginning is returned.

        Args:
            text: any text.
            own: texts that the reader has written, for example the names in an object: whole occurrences
                stay, whether they hold a value or not, so that they reveal no value. Called only when a value
                was found.
        """
        if len(text) <= _MOST_TEXT:
            return self._redact(text, 0, len(text), own)
        return self._redact(text[:_MOST_TEXT], 0, _MOST_TEXT - self._reach, own)

    def redact_end(self, text: str, most: int, own: Own = lambda: ()) -> str:
        """The end of a long text, without half a value at the cut; reads only that end."""
        start = min(self._reach, max(0, len(text) - most))
        end = text[-(most + start) :]
        shown = self._redact(end, start, len(end), own)
        return shown if len(text) <= most and len(shown) <= most else f"…{shown[-most:]}"

    def _redact(self, text: str, start: int, stop: int, own: Own) -> str:
        words = own() if self._holds(text) else ()
        kept = [word for word in words if len(word) >= SHORTEST and self._holds(word)]
        found = self._patterns(self._cover(text, start, stop, kept))
        for _ in range(_MOST_PASSES):
            again = self._patterns(self._cover(found, 0, len(found), kept))
            if again == found:
                break
            found = again
        else:
            found = REDACTED
        if kept:
            return found
        # The text around a replacement may form a value again, and so may the replacement.
        return next(shown for shown in (found, REDACTED, "") if not self._holds(shown))

    def _patterns(self, text: str) -> str:
        covered = _NAMED.sub(rf"\1{REDACTED}", text)
        covered = _SCHEME.sub(rf"\1 {REDACTED}", covered)
        return _USER.sub(rf"\1{REDACTED}@", covered)

    def _holds(self, text: str) -> bool:
        return any(form in text for form in self._forms)

    def _cover(self, text: str, start: int, stop: int, kept: Collection[str]) -> str:
        """The text from `start` to `stop`, with the values in it replaced."""
        parts: list[str] = []
        end = start
        for first, last in self._covered(text, kept):
            if last <= end or first >= stop:
                continue
            if first > end:
                parts += [text[end:first], REDACTED]
            elif not parts:
                parts.append(REDACTED)
            end = last
        return "".join([*parts, text[end:stop]])

    def _covered(self, text: str, kept: Collection[str]) -> list[tuple[int, int]]:
        """The spans of values, in order, without those within a text that is kept."""
        stretches = sorted({span for form in self._forms for span in _places(form, text)})
        if not stretches or not kept:
            return stretches
        shown = [span for word in kept for span in _places(word, text)]
        return [
            (first, stop)
            for first, stop in stretches
            if not any(begin <= first and stop <= end for begin, end in shown)
        ]


NOTHING_KNOWN = Redactor()
"""Knows no values: redacts by telling names alone."""


def _places(word: str, text: str) -> Iterator[tuple[int, int]]:
    at = text.find(word)
    while at >= 0:
        yield at, at + len(word)
        at = text.find(word, at + 1)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text)) and len(text) < _LONG
    except ValueError:
        return False


def _pieces(value: str) -> Iterator[str]:
    """Yields the value in pieces of at most `_CHUNK` characters."""
    yield from (value[at : at + _CHUNK] for at in range(0, len(value), _CHUNK))


def _forms(value: str) -> Iterator[str]:
    """Yields the forms in which a value may be written."""
    stripped = value.strip()
    yield from (stripped, value)
    lines = (line.strip() for line in stripped.splitlines()[:_MOST_LINES])
    yield from (line for line in lines if looks_like_a_secret(line))
    for text in dict.fromkeys((value, stripped)):
        yield from (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1])
        data = text.encode(errors="surrogatepass")
        yield from (quote(data), quote(data, safe=""))
        yield from (form for form in _encoded(data) if len(form) >= SHORTEST + 2)


def _encoded(data: bytes) -> Iterator[str]:
    """Base64 of data at any offset in longer data: only the characters that depend on the data alone."""
    for before, first in ((0, 0), (1, 2), (2, 3)):
        whole = b64encode(bytes(before) + data).decode().rstrip("=")
        last = (before + len(data)) * 8 // 6
        yield from (whole[first:last], whole[first:last].replace("+", "-").replace("/", "_"))
