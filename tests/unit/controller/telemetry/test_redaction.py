"""Credentials are not written, in whatever form they come."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from time import process_time
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lithify.controller.telemetry.redaction import LONG, REDACTED, Secrets, is_telling
from support.cases import case

VALUE = 'p@ss/w0rd+"x"\\ü'
KEY = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEFAASC\n-----END KEY-----\n"


def knowing(*values: str | bytes) -> Secrets:
    secrets = Secrets()
    secrets.register(values)
    return secrets


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
def test_each_form_goes(text: str) -> None:
    shown = knowing(VALUE).redact(f"before {text} after")
    assert shown.startswith("before ")
    assert shown.endswith(" after")
    assert REDACTED in shown
    assert not any(part in shown for part in ("w0rd", b64encode(b"w0rd").decode()[:4], "p@ss"))


def test_a_value_of_many_lines_goes_line_by_line() -> None:
    secrets = knowing(KEY)
    assert "MIIE" not in secrets.redact("line 2: MIIEvQIBADANBg")
    assert "kqhkiG" not in secrets.redact(KEY.replace("\n", "\\n"))


def test_the_line_break_of_echo_does_not_matter() -> None:
    assert knowing("hunter22\n").redact("login hunter22 failed") == f"login {REDACTED} failed"
    assert knowing(b"hunter22\n").redact("hunter22") == REDACTED


@pytest.mark.parametrize(
    ("value", "text", "shown"),
    [
        case("root", "root was refused", f"{REDACTED} was refused", id="a short one as a word"),
        case("root", "rooted in /uproot", "rooted in /uproot", id="a short one in words"),
        case("ab", "ab is about", "ab is about", id="a tiny one is anywhere"),
        case("ab", "password=ab", f"password={REDACTED}", id="but not beside a name"),
        case("", "nothing is hidden", "nothing is hidden", id="the empty value"),
        case("   ", "a   b", "a   b", id="blanks"),
    ],
)
def test_short_values(value: str, text: str, shown: str) -> None:
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
    assert "hush" not in Secrets().redact(text)


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
    assert Secrets().redact(text) == text


@pytest.mark.parametrize(
    ("name", "telling"),
    [
        ("password", True),
        ("s3.secret-key", True),
        ("apiKey", True),
        ("SAS_TOKEN", True),
        ("key", False),
        ("run", False),
    ],
)
def test_telling_names(name: str, telling: bool) -> None:
    assert is_telling(name) is telling


LETTERS = st.sampled_from('abre[d]ct"\\ =:\n@/é')
LONG_VALUES = st.text(LETTERS, min_size=LONG, max_size=12).filter(lambda value: len(value.strip()) >= LONG)


@given(
    st.lists(LONG_VALUES, min_size=1, max_size=4),
    st.lists(st.text(LETTERS, max_size=6), min_size=2, max_size=5),
)
@example(["redacted", "[redac"], ["x", "y"])
@example(["x[reda"], ["x", "secret", ""])
def test_no_value_is_left_whatever_surrounds_it(values: list[str], around: list[str]) -> None:
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


def test_long_texts_take_no_time() -> None:
    secrets = knowing(*(f"value-number-{number}" for number in range(200)))
    texts = ["a" * 100_000, "secret" * 20_000, "://" * 30_000, "token=" * 20_000, "Basic " * 20_000]
    started = process_time()
    for text in texts:
        secrets.redact(text)
    assert process_time() - started < 10
