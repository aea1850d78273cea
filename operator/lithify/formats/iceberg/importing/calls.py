"""Reads CALL statements of Spark: names, positional and named arguments, `map` and `array`. Pure.

Called by `importer`. Not a parser of SQL: an argument that is no literal, map or array is kept as written,
and other statements are kept whole, to be named. Templates (`${x}`, `{{ x }}`) may stand for any value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from lithify.errors import InvalidOption

Value: TypeAlias = str | Mapping[str, str]
"""An argument: the content of a literal, the text of any other expression, or a map."""

_TOKEN = re.compile(
    r"""(?P<blank>\s+|--[^\n]*|/\*.*?\*/)
    |(?P<literal>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    |(?P<name>`(?:[^`]|``)*`|[A-Za-z_]\w*)
    |(?P<arrow>=>)
    |(?P<other>\$\{[^}\n]*\}|\{\{[^\n]*?\}\}|[0-9][\w.]*|.)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)|''|\"\"", re.DOTALL)
_OPEN = frozenset({"'", '"', "`"})
"""Quotes that none ends; all others are part of their tokens."""
_SHOWN = 40
_END = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A CALL statement.

    Attributes:
        line: where it begins, from 1.
        procedure: the parts of its name, such as `("prod", "system", "rewrite_data_files")`.
        positional: arguments without a name.
        named: arguments by their names in small letters.
    """

    line: int
    procedure: tuple[str, ...]
    positional: tuple[Value, ...]
    named: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class OtherStatement:
    """A statement that calls nothing: its line, and its text."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


def parse_calls(text: str) -> tuple[Call | OtherStatement, ...]:
    """The statements of a text, separated by semicolons.

    Raises:
        InvalidOption: a CALL statement cannot be read; the message has its place.
    """
    return tuple(_Parser(text).statements())


class _Parser:
    """A position in the tokens of a text; the last token is its end."""

    def __init__(self, text: str) -> None:
        found = ((str(each.lastgroup), each) for each in _TOKEN.finditer(text))
        tokens = [_Token(kind, each[0], *each.span()) for kind, each in found if kind != "blank"]
        self._text = text
        self._tokens = [*tokens, _Token("end", _END, len(text), len(text))]
        self._at = 0

    @property
    def _token(self) -> _Token:
        return self._tokens[self._at]

    def statements(self) -> Iterator[Call | OtherStatement]:
        while self._token.kind != "end":
            if self._takes(";"):
                continue
            yield self._call() if self._token.text.lower() == "call" else self._other_statement()

    def _other_statement(self) -> OtherStatement:
        start = self._token
        while self._token.kind != "end" and self._token.text != ";":
            self._at += 1
        return OtherStatement(self._line(start.start), self._text[start.start : self._token.start].strip())

    def _call(self) -> Call:
        line = self._line(self._token.start)
        self._at += 1
        names = [self._name()]
        while self._takes("."):
            names.append(self._name())
        self._expect("(")
        positional: list[Value] = []
        named: dict[str, Value] = {}
        while not self._takes(")"):
            if self._tokens[min(self._at + 1, len(self._tokens) - 1)].kind == "arrow":
                name = self._name().lower()
                self._at += 1
                if name in named:
                    self._fail(f"a second argument {name}")
                named[name] = self._value()
            elif named:
                self._fail("an argument without a name after one with a name")
            else:
                positional.append(self._value())
            if not self._takes(","):
                self._expect(")")
                break
        if self._token.kind != "end":
            self._expect(";")
        return Call(line, tuple(names), tuple(positional), named)

    def _value(self) -> Value:
        start, first = self._at, self._token
        if first.text.lower() == "map" and self._tokens[self._at + 1].text == "(":
            self._at += 2
            return self._pairs()
        while self._token.text not in {",", ")", ";"}:
            if self._token.text in {"(", "["}:
                self._skip_nested()
            elif self._token.text in _OPEN:
                self._fail("a text or name that ends")
            elif self._token.kind == "end":
                break
            else:
                self._at += 1
        if self._at == start:
            self._fail("a value")
        if self._at == start + 1:
            return _content(first)
        return self._text[first.start : self._tokens[self._at - 1].end]

    def _pairs(self) -> Mapping[str, str]:
        texts: list[str] = []
        while not self._takes(")"):
            value = self._value()
            if not isinstance(value, str):
                self._fail("a text in a map")
            texts.append(value)
            if not self._takes(","):
                self._expect(")")
                break
        if len(texts) % 2:
            self._fail("a value for each key of the map")
        return dict(zip(texts[::2], texts[1::2], strict=True))

    def _skip_nested(self) -> None:
        depth = 0
        while True:
            depth += (self._token.text in {"(", "["}) - (self._token.text in {")", "]"})
            if self._token.kind == "end":
                self._fail(")")
            self._at += 1
            if not depth:
                return

    def _name(self) -> str:
        token = self._token
        if token.kind != "name":
            self._fail("a name")
        self._at += 1
        return _content(token)

    def _takes(self, text: str) -> bool:
        is_it = self._token.text == text
        self._at += is_it
        return is_it

    def _expect(self, text: str) -> None:
        if not self._takes(text):
            self._fail(text)

    def _line(self, offset: int) -> int:
        return self._text.count("\n", 0, offset) + 1

    def _fail(self, expected: str) -> NoReturn:
        start = self._token.start
        column = start - self._text.rfind("\n", 0, start)
        rest = self._text[start : start + _SHOWN].partition("\n")[0] or "the end of the text"
        raise InvalidOption(
            f"line {self._line(start)}, column {column}", f"{expected} was expected, not {rest}"
        )


def _content(token: _Token) -> str:
    """What a token stands for: literals and names lose their quotes."""
    if token.kind == "literal":
        return _ESCAPE.sub(lambda found: found[1] or found[0][0], token.text[1:-1])
    if token.text.startswith("`") and token.kind == "name":
        return token.text[1:-1].replace("``", "`")
    return token.text
