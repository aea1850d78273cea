"""Credentials are not written, in whatever form they come."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from time import process_time
from urllib.parse import quote

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from lithify.redaction import (
    NOTHING_KNOWN,
    REDACTED,
    SHORTEST,
    Redactor,
    credentials_in,
    is_telling,
    looks_like_a_secret,
)
from support.cases import case

VALUE = 'p@ss/w0rd+"x"\\ü'
KEY = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEFAASC\n-----END KEY-----\n"


def knowing(*values: str) -> Redactor:
    return Redactor(values)


@pytest.mark.parametrize(
    "text",
    [
        case(VALUE, id="as it is"),
        case(json.dumps(VALUE), id="in JSON"),
        case(json.dumps(VALUE, ensure_ascii=False), id="in JSON, not escaped"),
        case(repr(VALUE), id="as Python shows it"),
        case(f"s3://x:{quote(VALUE, safe='')}@host/", id="in a URL"),
        case(b64encode(VALUE.encode()).decode(), id="in base64, as in a Secret"),
        case(urlsafe_b64encode(VALUE.encode()).decode(), id="in base64 for URLs"),
        case(b64encode(f"user:{VALUE}".encode()).decode(), id="in a header for basic authentication"),
        case(b64encode(f"users:{VALUE}\n".encode()).decode(), id="in the middle of base64"),
    ],
)
def test_each_form_of_a_secret_is_redacted(text: str) -> None:
    shown = knowing(VALUE).redact(f"before {text} after")
    assert shown.startswith("before ")
    assert shown.endswith(" after")
    assert REDACTED in shown
    assert not any(part in shown for part in ("w0rd", b64encode(b"w0rd").decode()[:4], "p@ss"))


def test_a_value_of_many_lines_goes_line_by_line() -> None:
    secrets = knowing(KEY)
    assert "MIIE" not in secrets.redact("line 2: MIIEvQIBADANBg")
    assert "kqhkiG" not in secrets.redact("line 3: kqhkiG9w0BAQEFAASC")
    assert "kqhkiG" not in secrets.redact(KEY.replace("\n", "\\n"))


def test_the_line_break_of_echo_does_not_matter() -> None:
    assert knowing("hunter22\n").redact("login hunter22 failed") == f"login {REDACTED} failed"


@pytest.mark.parametrize(
    ("value", "text", "shown"),
    [
        case("root", "root was refused", "root was refused", id="a short one is a word"),
        case("hush1", "with hush1", "with hush1", id="one that can be guessed"),
        case("ab", "password=ab", f"password={REDACTED}", id="but not beside a name"),
        case("", "nothing is hidden", "nothing is hidden", id="the empty value"),
        case("   ", "a   b", "a   b", id="blanks"),
    ],
)
def test_short_values_are_hidden_only_where_they_stand_alone(value: str, text: str, shown: str) -> None:
    assert knowing(value).redact(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "password=hush",
        "s3.secret-key: hush",
        '{"s3.access-key": "hush"}',
        "{'fs.s3a.secret.key': 'hush hush'}",
        "fs.azure.account.key.acme.blob.core.windows.net=hush",
        "Authorization: Bearer hush",
        "got Bearer hushhush0123 from",
        "jdbc:mysql://user:hush@host/db",
        "https://b.example/x?X-Amz-Signature=hush&a=b",
        "https://acme.example/c?sv=1&sig=hush",
        "token = hush",
        "--catalog-option=token=hush",
    ],
)
def test_unknown_values_go_by_their_names(text: str) -> None:
    assert "hush" not in NOTHING_KNOWN.redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "there is no Secret default/keys: spec.secretRef of the Catalog names it",
        "sales.orders: 9 sorted runs, the trigger is 5",
        "s3://bucket/warehouse/db.db/t: no such file",
        "http://localhost:8080/metrics",
        "bucket 3 of dt=2026-01-02 has 9 sorted runs",
    ],
)
def test_ordinary_messages_stay_as_they_are(text: str) -> None:
    assert NOTHING_KNOWN.redact(text) == text


@pytest.mark.parametrize(
    ("name", "telling"),
    [
        ("password", True),
        ("s3.secret-key", True),
        ("apiKey", True),
        ("SAS_TOKEN", True),
        ("fs.dlf.ak", True),
        ("sk", True),
        ("sasl.keytab", True),
        ("fs.disk", False),
        ("key", False),
        ("run", False),
    ],
)
def test_names_of_secrets_are_known(name: str, telling: bool) -> None:
    assert is_telling(name) is telling


SECRETS = [
    case("hunter22", id="a password of eight"),
    case("AKIAIOSFODNN7EXAMPLE", id="an access key"),
    case("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", id="a secret key"),
    case("b2a7c1e9d4f80316", id="hexadecimal digits"),
    case("tr0ub4dor-and-3", id="words with digits"),
    case("correct-horse-battery-staple", id="four words"),
    case("hwnqzkfjxbvtplmgcrsd", id="twenty letters"),
    case("4815162342108987", id="sixteen digits"),
    case("jdbc:mysql://u:p4ssw0rd@db/x", id="a URI with a password"),
    case("https://acme.example/c?sv=1&sig=h4x0r", id="a URL with a signature"),
]
WORDS_AND_NUMBERS = [
    case("", id="nothing"),
    case("hush", id="a short word"),
    case("hunter2", id="seven characters"),
    case("password", id="a word"),
    case("Compacted", id="a word of ours"),
    case("minioadmin", id="a name"),
    case("sorted-runs", id="two words"),
    case("catalog answers", id="two words of a message"),
    case("aaaaaaaaaaaaaaaa", id="one character"),
    case("12341234123412341234", id="four different ones"),
    case("20261122", id="a number"),
    case("1048576000", id="a longer number"),
    case("-0.123456789", id="a fraction"),
    case("us-east-1", id="a region"),
    case("europe-west4", id="another cloud's region"),
    case("us-gov-west-1", id="a region of four words"),
    case("http://catalog.example:8080/v1", id="an address"),
    case("s3://bucket/warehouse/x7", id="a place"),
    case("redacted]", id="what fills gaps"),
]


@pytest.mark.parametrize("value", SECRETS)
def test_what_is_removed_by_its_value(value: str) -> None:
    assert looks_like_a_secret(value)
    assert knowing(value).redact(f"it said {value} and") == f"it said {REDACTED} and"


@pytest.mark.parametrize("value", WORDS_AND_NUMBERS)
def test_what_nobody_can_have_removed(value: str) -> None:
    assert not looks_like_a_secret(value)
    assert knowing(value).redact(f"it said {value} and") == f"it said {value} and"


@pytest.mark.parametrize("value", [*SECRETS, *WORDS_AND_NUMBERS[1:-1]])
def test_both_go_beside_a_telling_name(value: str) -> None:
    assert NOTHING_KNOWN.redact(f"password='{value}'") == f"password={REDACTED}"


def test_what_everybody_may_read_is_no_secret() -> None:
    assert not looks_like_a_secret("warehouse-77", ["s3://warehouse-77/lake"])
    assert (
        Redactor(["warehouse-77"], ["s3://warehouse-77/lake"]).redact("no warehouse-77") == "no warehouse-77"
    )


GUESSES = st.sampled_from(["hunter22", "hunter23", "tr0ub4dor-and-3", "nothing-at-all-7"])


@given(GUESSES)
def test_a_tenant_learns_nothing_from_its_own_texts(guess: str) -> None:
    """Right or wrong, a guess within the name of a table looks the same, and the credential stays hidden."""
    redactor = knowing("hunter22")
    name = f"sales.{guess}"
    shown = redactor.redact(f"{name}: login of hunter22 was refused, there is no {name}", lambda: [name])
    assert shown == f"{name}: login of {REDACTED} was refused, there is no {name}"


def test_own_texts_uncover_nothing_beside_them() -> None:
    shown = knowing("hunter22").redact("hunter22 xhunter22 hunter22x", lambda: ["xhunter22"])
    assert shown == f"{REDACTED} xhunter22 {REDACTED}x"


@pytest.mark.parametrize("length", [10, 100, 1500, 3000])
@pytest.mark.parametrize("most", [50, 200, 1023])
def test_no_half_of_a_value_is_left_where_a_text_is_cut(length: int, most: int) -> None:
    value = "".join(f"{number:x}Zk" for number in range(length))[:length]
    redactor = knowing(value)
    for after in range(0, most + 20, 7):
        shown = redactor.redact_end("before " + value + "." * after, most)
        assert len(shown) <= most + 1
        assert "Zk" not in shown


def test_a_long_text_is_cut_without_half_a_value() -> None:
    value = "v4lue-" * 100 + "end"
    for before in (0, 50, (1 << 16) - 300, (1 << 16) - 3):
        shown = knowing(value).redact("." * before + value + "." * (1 << 20))
        assert len(shown) < 1 << 17
        assert "v4lue" not in shown


LETTERS = st.sampled_from('abre[d]ct"\\ =:\n@/é27K')
LONG_VALUES = st.text(LETTERS, min_size=SHORTEST, max_size=14).filter(looks_like_a_secret)


@given(
    st.lists(LONG_VALUES, min_size=1, max_size=4),
    st.lists(st.text(LETTERS, max_size=6), min_size=2, max_size=5),
)
@example(["7redacted", "[redac27"], ["x", "y"])
@example(["x7[redac"], ["x7", "secret", ""])
def test_no_value_is_left_whatever_surrounds_it(values: list[str], around: list[str]) -> None:
    assume(all(looks_like_a_secret(value) for value in values))
    secrets = knowing(*values)
    for text in ("".join(around), values[0].join(around), "".join(values).join(around)):
        shown = secrets.redact(text)
        assert not any(value.strip() in shown for value in values)


WORDS = ("token", "password", "hunter22", "root", "x", "user:", "sig", "0123456789", "Bearer ", "Basic ")
PIECES = st.lists(
    st.sampled_from([*WORDS, "=", ": ", '"', "'", " ", "]", "[", REDACTED, "://", "@", ","]), max_size=12
).map("".join)


@given(PIECES)
@example("token=hunter22xyz")
@example("Authorization: Bearer hunter22")
def test_redacting_again_changes_nothing(text: str) -> None:
    secrets = knowing("hunter22", "root")
    once = secrets.redact(text)
    assert secrets.redact(once) == once
    assert "hunter22" not in once


HOSTILE = [
    "a",
    "secret",
    "://",
    "token=",
    "Basic ",
    'token="',
    "sig:'",
    "://a:",
    "access-",
    "password" + "." * 60,
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_megabyte_takes_no_time(piece: str) -> None:
    secrets = knowing(*(f"value-number-{number}" for number in range(32)))
    text = piece * ((1 << 20) // len(piece))
    started = process_time()
    secrets.redact(text)
    secrets.redact_end(text, 32_768)
    assert process_time() - started < 2


def test_a_pattern_takes_time_in_proportion_to_the_text() -> None:
    for piece in HOSTILE:
        costs = []
        for length in (1 << 15, 1 << 16):
            started = process_time()
            NOTHING_KNOWN.redact(piece * (length // len(piece)))
            costs.append(process_time() - started)
        assert costs[1] < 3 * costs[0] + 0.05


HARMLESS = {
    "metastore": "rest",
    "warehouse": "s3://stones/w",
    "s3.region": "eu-west-1",
    "cache.enabled": "true",
}


@pytest.mark.parametrize(
    "options",
    [
        case({"s3.secret-key": "hush"}, id="secret key"),
        case({"s3.access-key": "hush"}, id="access key"),
        case({"fs.oss.accessKeySecret": "hush"}, id="in camels"),
        case({"token": "hush"}, id="token"),
        case({"jdbc.password": "hush"}, id="password"),
        case({"dlf.access-key-id": "hush"}, id="key with an id"),
        case({"fs.azure.sas": "hush"}, id="shared access signature"),
        case({"uri": "jdbc:mysql://db/x?user=me&password=hush&ssl=true"}, id="in the query of a URI"),
        case({"uri": "http://me:hush@db/x"}, id="in the authority of a URI"),
    ],
)
def test_values_that_are_secret(options: dict[str, str]) -> None:
    assert credentials_in({**HARMLESS, **options}) == ("hush",)


def test_nothing_is_secret_about_the_rest() -> None:
    assert credentials_in({**HARMLESS, "uri": "http://catalog:8080/v1", "token.provider": "x"}) == ()
