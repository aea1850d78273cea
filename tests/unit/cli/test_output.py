"""Where output goes, how numbers read, and that neither an encoding nor Spark gets in the way."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO, TextIOWrapper
from select import select

import pytest
from rich.console import Group
from rich.table import Table
from rich.text import Text

from lithify.cli.output import emit, err, number, out
from lithify.cli.progress_bar import ProgressBar
from lithify.engine.run.spark import _jvm_output_hidden


@pytest.mark.parametrize(
    ("count", "words", "expected"),
    [
        (0, ["file"], "0 files"),
        (1, ["file"], "1 file"),
        (2, ["small file"], "2 small files"),
        (1_234_567, ["row"], "1,234,567 rows"),
        (1, ["retry", "retries"], "1 retry"),
        (2, ["retry", "retries"], "2 retries"),
    ],
)
def test_numbers_agree_with_their_words(count: int, words: list[str], expected: str) -> None:
    assert number(count, *words) == expected


class TestEmit:
    def test_json_goes_to_stdout_and_the_picture_is_not_made(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def no_picture() -> Text:
            raise AssertionError

        emit(True, {"a": [1, None, "[red]é"]}, no_picture)

        printed = capsys.readouterr()
        assert json.loads(printed.out) == {"a": [1, None, "[red]é"]}
        assert printed.err == ""

    def test_pictures_go_to_stdout(self, capsys: pytest.CaptureFixture[str]) -> None:
        emit(False, {}, lambda: Text("[red]▇ → :bug:"))
        assert capsys.readouterr() == ("[red]▇ → :bug:\n", "")

    @pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
    def test_encodings_without_arrows_are_no_error(
        self, encoding: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        written = BytesIO()
        monkeypatch.setattr(sys, "stdout", TextIOWrapper(written, encoding))
        emit(False, {}, lambda: Text("3 → 1 ▇"))
        assert written.getvalue() == b"3 ? 1 ?\n"

    def test_nobodys_window_is_wide(self) -> None:
        assert out().width == 140


@contextmanager
def terminal() -> Iterator[Callable[[str], str]]:
    """Makes stderr a terminal, the file descriptor and Python's stream.

    Yields a function that waits for a text on the screen and returns what was new up to there.
    """
    screen, keyboard = os.openpty()

    def shown(text: str) -> str:
        new = ""
        while text not in new:
            ready, _, _ = select([screen], [], [], 10)
            assert ready, f"{text} is not in {new!r}"
            new += os.read(screen, 1 << 16).decode()
        return new

    with pytest.MonkeyPatch.context() as patch, os.fdopen(2, "w", buffering=1, closefd=False) as stream:
        real = os.dup(2)
        os.dup2(keyboard, 2)
        patch.setenv("TERM", "xterm")
        patch.setattr(sys, "stderr", stream)
        try:
            yield shown
        finally:
            os.dup2(real, 2)
            for number in (real, screen, keyboard):
                os.close(number)


class TestProgress:
    def test_is_seen_while_spark_is_silenced(self) -> None:
        with terminal() as shown, ProgressBar("bucket") as bar:
            shown("planning")
            with _jvm_output_hidden():
                os.write(2, b"WARN NativeCodeLoader")
                bar.progressed(41)
                bar.__exit__()
                assert "WARN" not in shown("41/")

    def test_stderr_is_itself_again(self) -> None:
        with terminal() as shown:
            stream = sys.stderr
            with ProgressBar("bucket"), _jvm_output_hidden():
                assert sys.stderr is not stream
            assert sys.stderr is stream
            print("lithify: the end", file=sys.stderr)
            shown("lithify: the end\r\n")

    def test_is_not_printed_where_nobody_looks(self, capsys: pytest.CaptureFixture[str]) -> None:
        with ProgressBar("bucket") as bar:
            bar.progressed(41)
        assert capsys.readouterr() == ("", "")

    def test_notes_go_to_stderr(self, capsys: pytest.CaptureFixture[str]) -> None:
        err().print("a note")
        assert capsys.readouterr() == ("", "a note\n")


def test_what_tables_say_does_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "dt=\x1b]0;owned\x07\x1b[2J\u202e1\x9b31m/bucket-0"
    grid = Table(box=None)
    grid.add_column(hostile)
    grid.add_row(Text(hostile), style="red")
    emit(False, {}, lambda: Group(Text(hostile, "bold"), grid))
    err().print(Text(hostile))
    emit(True, {"bucket": hostile}, lambda: Text(""))
    shown = capsys.readouterr()
    assert not set("\x1b\x07\u202e\x9b") & set(shown.out + shown.err)
    assert r"dt=\x1b]0;owned" in shown.out
    assert json.loads(shown.out[shown.out.index("{") :]) == {"bucket": hostile}
