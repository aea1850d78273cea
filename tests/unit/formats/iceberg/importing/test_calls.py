"""CALL statements as people write them in files and templates; errors have their place."""

from __future__ import annotations

import pytest

from lithify.errors import InvalidOption
from lithify.formats.iceberg.importing.calls import Call, OtherStatement, Value, parse_calls
from support.cases import case


def call(text: str) -> Call:
    (found,) = parse_calls(text)
    assert isinstance(found, Call)
    return found


@pytest.mark.parametrize(
    ("text", "procedure"),
    [
        case("CALL system.p('a')", ("system", "p"), id="without a catalog"),
        case("call Prod.System.P('a');", ("Prod", "System", "P"), id="any case"),
        case("CALL `my-cat`.system.`p`()", ("my-cat", "system", "p"), id="quoted names"),
        case("-- x\n/* CALL y */ CALL\n a . p ( )\n ; ;", ("a", "p"), id="comments and blanks"),
    ],
)
def test_procedure_is_named(text: str, procedure: tuple[str, ...]) -> None:
    assert call(text).procedure == procedure


@pytest.mark.parametrize(
    ("text", "value"),
    [
        case("'a, (b)'", "a, (b)", id="marks in a literal"),
        case("'it''s'", "it's", id="doubled quote"),
        case(r"'it\'s'", "it's", id="escaped quote"),
        case('"say ""hi"""', 'say "hi"', id="double quotes"),
        case("10", "10", id="number"),
        case("true", "true", id="boolean"),
        case("TIMESTAMP '2026-01-01 00:00:00'", "TIMESTAMP '2026-01-01 00:00:00'", id="typed literal"),
        case("now() - INTERVAL 5 DAYS", "now() - INTERVAL 5 DAYS", id="expression"),
        case("date_sub(current_date(), 7)", "date_sub(current_date(), 7)", id="nested call"),
        case("array(1, 2)", "array(1, 2)", id="array"),
        case("${cutoff}", "${cutoff}", id="template of a shell"),
        case("{{ ds }}", "{{ ds }}", id="template of Airflow"),
        case("map('a', '1', 'b', 2)", {"a": "1", "b": "2"}, id="map"),
        case("map()", {}, id="empty map"),
        case("MAP ('a', 'x=>(y)')", {"a": "x=>(y)"}, id="marks in a map"),
    ],
)
def test_argument_is_read(text: str, value: Value) -> None:
    assert call(f"CALL s.p(A => {text}, b => 1)").named == {"a": value, "b": "1"}
    assert call(f"CALL s.p({text}, 1)").positional == (value, "1")


def test_other_statements_are_kept_with_their_lines() -> None:
    found = parse_calls("USE a;\n\nSET x = 'a;b';\nCALL s.p('t')")
    assert found[:2] == (OtherStatement(1, "USE a"), OtherStatement(3, "SET x = 'a;b'"))
    assert isinstance(found[2], Call)
    assert found[2].line == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        case("CALL s.p('t'", "line 1, column 13: ) was expected, not the end of the text", id="no end"),
        case(
            "CALL s.p('t')\nCALL s.q('t')", "line 2, column 1: ; was expected, not CALL s.q('t')", id="no ;"
        ),
        case("CALL s.p(a => )", "line 1, column 15: a value was expected, not )", id="no value"),
        case("CALL s.p(a => 1, 2)", "an argument without a name after one with a name", id="order"),
        case("CALL s.p(a => 1, A => 2)", "a second argument a", id="twice"),
        case("CALL s.p(map('a'))", "a value for each key of the map", id="half a pair"),
        case("CALL s.p(map('a', map('b', 'c')))", "a text in a map", id="map in a map"),
        case(
            "CALL s.p('t)",
            "line 1, column 10: a text or name that ends was expected, not 't)",
            id="open literal",
        ),
        case("CALL s.p(f(1)", "line 1, column 14: ) was expected", id="open call"),
        case("CALL 's'.p()", "line 1, column 6: a name was expected, not 's'.p()", id="literal as a name"),
    ],
)
def test_what_cannot_be_read_is_shown_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InvalidOption) as raised:
        parse_calls(text)
    assert message in str(raised.value)
