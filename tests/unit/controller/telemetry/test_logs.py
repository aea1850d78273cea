"""Lines of logs: what stands in them, and what never does."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import kopf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.controller.telemetry.credentials import CatalogCredentials, concerning
from lithify.controller.telemetry.logs import (
    JsonFormatter,
    TextFormatter,
    bound,
    credentials,
    set_up_logs,
    shown,
)
from lithify.errors import ClusterConflict
from lithify.redaction import REDACTED, SHORTEST, looks_like_a_secret
from lithify.resources.names import ObjectKey

Start = Callable[..., io.StringIO]
LAKE, POND = ObjectKey("sales", "lake"), ObjectKey("crm", "pond")
log = logging.getLogger("lithify.test")


@pytest.fixture
def start() -> Iterator[Start]:
    """Sets logs up into a text, and undoes it."""
    undo: list[Callable[[], None]] = []

    def begin(log_format: str = "json", **options: bool) -> io.StringIO:
        stream = io.StringIO()
        undo.append(set_up_logs(log_format, stream=stream, **options))
        return stream

    yield begin
    for each in reversed(undo):
        each()


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def raised(error: Exception) -> Exception:
    """The error with a traceback."""
    try:
        raise error  # noqa: TRY301  # only to be raised
    except Exception as caught:  # noqa: BLE001
        return caught


def test_a_line_of_json(start: Start) -> None:
    stream = start()
    with bound(run="r-1", table="sales.orders"), bound(attempt=2):
        log.warning("%d files\nin two lines", 3, extra={"bucket": "dt=1/bucket-0", "level": "odd"})
    [line] = lines(stream)
    assert line.pop("ts").endswith("Z")
    assert line == {
        "level": "WARNING",
        "logger": "lithify.test",
        "message": "3 files\nin two lines",
        "run": "r-1",
        "table": "sales.orders",
        "attempt": 2,
        "bucket": "dt=1/bucket-0",
        "level_": "odd",
    }


def test_what_is_bound_ends_with_its_block(start: Start) -> None:
    stream = start()
    with pytest.raises(ValueError), bound(run="r-1"):
        raise ValueError
    log.info("after")
    assert "run" not in lines(stream)[0]


@pytest.mark.asyncio
async def test_what_is_bound_belongs_to_one_task(start: Start) -> None:
    stream = start()

    async def work(run: str) -> None:
        with bound(run=run):
            await asyncio.sleep(0)
            log.info("working on %s", run)

    await asyncio.gather(*(work(f"r-{number}") for number in range(5)))
    assert all(line["message"] == f"working on {line['run']}" for line in lines(stream))


def test_errors_say_their_class_and_whose_they_are(start: Start) -> None:
    stream = start()
    for error in (ClusterConflict("patch x", "changed"), KeyError("k")):
        log.error("it failed", exc_info=raised(error))
    conflict, bug = lines(stream)
    assert (conflict["error"], conflict["failure"]) == ("ClusterConflict", "conflict")
    assert (bug["error"], bug["failure"]) == ("KeyError", "bug")
    assert "test_logs.py" in bug["traceback"]


def test_text_for_terminals(start: Start) -> None:
    stream = start("text")
    with bound(run="r-1"):
        log.info("compacted \x1b[31m%s", "orders", extra={"why": "two words", "note": ""})
    [line] = stream.getvalue().splitlines()
    assert line.endswith('INFO    compacted \\x1b[31morders run=r-1 why="two words" note=""')


def test_a_traceback_follows_the_line(start: Start) -> None:
    stream = start("text")
    log.error("it failed", exc_info=raised(KeyError("k")))
    first, *rest = stream.getvalue().splitlines()
    assert first.endswith("it failed error=KeyError failure=bug")
    assert rest[0].startswith("    Traceback")


def test_no_text_adds_a_line_to_the_log(start: Start) -> None:
    """A record of several lines has them below it: message, traceback, stack, names and values of fields."""
    forged = '\n2026-01-01T00:00:00.000Z INFO    forged\r\n{"level":"INFO"}'
    for log_format in ("text", "json"):
        stream = start(log_format)
        log.error(
            "it%s", forged, extra={forged: forged}, exc_info=raised(KeyError(forged, ValueError(forged)))
        )
        log.error("again", exc_info=raised(ValueError(forged)), stack_info=True)
        written = stream.getvalue()[:-1].split("\n")
        records = [line for line in written if not line.startswith("    ")]
        assert len(records) == 2
        assert not any(line.startswith(("2026-01-01", '{"level"')) for line in records)
        assert "forged" in stream.getvalue()


def test_only_warnings_of_other_libraries_are_logged(start: Start) -> None:
    stream = start()
    for name in ("kopf.objects", "asyncio", "aiohttp.access", "some.library"):
        logging.getLogger(name).info("chatter")
        logging.getLogger(name).warning("trouble")
    log.debug("detail")
    log.info("news")
    assert [line["message"] for line in lines(stream)] == ["trouble"] * 4 + ["news"]


def test_verbose_adds_our_details_only(start: Start) -> None:
    stream = start(verbose=True)
    log.debug("detail")
    logging.getLogger("kopf").info("chatter")
    assert [line["message"] for line in lines(stream)] == ["detail"]


def test_kopfs_objects_are_fields(start: Start) -> None:
    stream = start()
    about = {"apiVersion": "v1", "kind": "LakeTable", "namespace": "n", "name": "x", "uid": "u"}
    logging.getLogger("kopf.objects").warning(
        "odd", extra={"k8s_ref": about, "k8s_skip": True, "settings": kopf.OperatorSettings()}
    )
    [line] = lines(stream)
    assert {name: line[name] for name in ("kind", "namespace", "name")} == {
        "kind": "LakeTable",
        "namespace": "n",
        "name": "x",
    }
    assert "settings" not in line


def test_warnings_and_what_nobody_caught_are_lines_too(start: Start) -> None:
    stream = start()
    credentials.replace(LAKE, ["correct-horse-1"])
    with concerning(LAKE), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("beware of correct-horse-1", stacklevel=1)
        error = raised(RuntimeError("correct-horse-1 battery"))
        sys.excepthook(RuntimeError, error, error.__traceback__)
    warned, uncaught = lines(stream)
    assert warned["logger"] == "py.warnings"
    assert (uncaught["level"], uncaught["error"]) == ("CRITICAL", "RuntimeError")
    assert "correct-horse-1" not in stream.getvalue()


def test_a_mistake_in_a_call_costs_nothing(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    class Odd:
        def __str__(self) -> str:
            raise ValueError("correct-horse-b2")

    stream = start()
    credentials.replace(LAKE, ["correct-horse-b2"])
    odd = {"value": Odd(), "more": {"inner": Odd()}, "endless": float("nan"), "raw": b"\xff"}
    with concerning(LAKE):
        log.info("%d of %d", "correct-horse-b2")  # noqa: PLE1206  # the mistake
        log.info("%s", Odd())
        log.info("odd", extra=odd)
        log.info("lone \ud800 surrogate")
    assert len(lines(stream)) == 4
    assert "correct-horse-b2" not in stream.getvalue()
    assert capsys.readouterr().err == ""


def test_a_stream_that_is_gone_shows_nothing_elsewhere(
    start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    start().close()
    log.info("password is %s", "hush")
    assert capsys.readouterr() == ("", "")


def test_what_was_there_before_is_there_again() -> None:
    root = logging.getLogger()
    before = (root.handlers[:], root.level, logging.getLogger("kopf").level, sys.excepthook)
    set_up_logs("json", stream=io.StringIO())()
    assert (root.handlers[:], root.level, logging.getLogger("kopf").level, sys.excepthook) == before


def test_fields_with_telling_names_are_empty(start: Start) -> None:
    stream = start()
    options = {"s3.secret-key": "hush", "warehouse": "/w", "deep": [{"password": 1234}]}
    log.info("options", extra={"options": options, "token": "hush"})
    [line] = lines(stream)
    assert line["token"] == REDACTED
    assert line["options"] == {"s3.secret-key": REDACTED, "warehouse": "/w", "deep": [{"password": REDACTED}]}


def test_lines_lose_what_steers_terminals_and_reorders_text(start: Start) -> None:
    hostile = "a\u202eb\x9b31mc\u2028d"
    stream = start()
    log.info("%s", hostile, extra={hostile: hostile})
    [line] = stream.getvalue().split("\n")[:-1]
    assert not set("\u202e\x9b\u2028") & set(line)
    assert json.loads(line)["message"] == json.loads(line)[hostile] == hostile
    stream = start("text")
    log.info("%s", hostile, extra={hostile: hostile})
    assert not set("\u202e\x9b\u2028") & set(stream.getvalue())


class TestTenants:
    """What one tenant keeps in its Secrets changes nothing for another."""

    TEXT = "lake: compacted 9 sorted runs of wJalrXUtnFEMI/K7MDENG"

    def test_values_are_hidden_in_texts_about_their_catalog_only(self, start: Start) -> None:
        credentials.replace(LAKE, ["wJalrXUtnFEMI/K7MDENG"])
        credentials.replace(POND, ["AKIAIOSFODNN7EXAMPLE"])
        stream = start()
        for catalog in (LAKE, POND, None):
            with concerning(catalog):
                log.info(self.TEXT)
        hidden, *others = [line["message"] for line in lines(stream)]
        assert hidden == f"lake: compacted 9 sorted runs of {REDACTED}"
        assert others == [self.TEXT, self.TEXT]

    def test_a_guess_about_another_tenants_credential_is_not_confirmed(self) -> None:
        known = "wJalrXUtnFEMI/K7MDENG"
        credentials.replace(LAKE, [known])
        with concerning(POND):
            assert shown(f"there is no table sales.{known}", 100) == f"there is no table sales.{known}"

    def test_any_number_of_values_evicts_nobody_elses(self) -> None:
        credentials.replace(LAKE, ["wJalrXUtnFEMI/K7MDENG"])
        for number in range(300):
            values = [f"value-{number}-{each}-x" for each in range(40)]
            credentials.replace(ObjectKey("crm", f"c{number}"), values)
        with concerning(LAKE):
            assert REDACTED in shown(self.TEXT, 100)

    def test_common_words_are_nobodys_credentials(self) -> None:
        credentials.replace(LAKE, ["compacted", "sorted runs", "lake", "9", "of"])
        with concerning(LAKE):
            assert shown(self.TEXT, 100) == self.TEXT

    def test_a_renewed_credential_replaces_the_old_one_and_none_outlives_its_catalog(self) -> None:
        old, new = "wJalrXUtnFEMI/K7MDENG", "AKIAIOSFODNN7EXAMPLE"
        with concerning(LAKE):
            credentials.replace(LAKE, [old])
            credentials.replace(LAKE, [new])
            assert shown(f"{old} {new}", 100) == f"{old} {REDACTED}"
            credentials.forget(LAKE)
            assert shown(f"{old} {new}", 100) == f"{old} {new}"

    @pytest.mark.asyncio
    async def test_tasks_begun_in_it_are_about_the_same_catalog(self) -> None:
        credentials.replace(LAKE, ["wJalrXUtnFEMI/K7MDENG"])

        async def tell() -> str:
            await asyncio.sleep(0)
            return shown(self.TEXT, 100)

        with concerning(LAKE):
            task = asyncio.create_task(tell())
        assert REDACTED in await task


VALUES = st.text(st.characters(codec="utf-8"), min_size=SHORTEST, max_size=20).filter(looks_like_a_secret)
NUMBERS = st.integers(10**15, 10**16 - 1).map(str).filter(looks_like_a_secret)


def leaves(value: Any) -> Iterator[str]:
    """All names and values of an object, as texts."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    else:
        yield str(value)


def record_with(value: str, text: str) -> logging.LogRecord:
    """A record that holds a value wherever one can be."""
    error = raised(ClusterConflict(value, text))
    error.__cause__ = raised(ValueError(f"{text}{value}"))
    information = (type(error), error, error.__traceback__)
    number = int(value) if value.isascii() and value.isdigit() else 7
    extra = {
        "plain": value,
        "nested": {value: [text + value, {text: value}], "number": number, "raw": value.encode()},
        "thing": ValueError(value),
        value: value,
    }
    made = logging.LogRecord(
        f"lithify.{value}", logging.ERROR, "f.py", 1, f"{text} %s {value}", (value,), information
    )
    made.stack_info = f"Stack:\n{value}"
    vars(made).update({name: inner for name, inner in extra.items() if name not in vars(made)})
    return made


@given(VALUES | NUMBERS, st.text(max_size=10))
def test_no_hidden_value_is_ever_written(value: str, text: str) -> None:
    known = CatalogCredentials()
    known.replace(LAKE, [value])
    with concerning(LAKE), bound(run=value):
        record = record_with(value.replace("%", "%%"), text.replace("%", "%%"))
        line = json.loads(JsonFormatter(known).format(record))
        shown = TextFormatter(known).format(record)
    fixed = {
        line.pop("ts"),
        line.pop("level"),
        *("logger", "message", "run", "error", "failure", "traceback", "stack"),
    }
    assert not any(value.strip() in leaf for leaf in leaves(line) if leaf not in fixed)
    assert value.strip() not in shown
