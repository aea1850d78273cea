"""How commands end: the exit code, one sentence on stderr, nothing on stdout."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Any

import click
import pytest

from lithify import __version__
from lithify.cli.main import cli
from lithify.errors import (
    AttemptFenced,
    CommitConflict,
    CommitUnknown,
    CorruptTable,
    InvalidOption,
    LithifyError,
    MissingFile,
    NotFound,
    OutOfMemory,
    StorageError,
    TaskFailed,
    UnsupportedTable,
)
from lithify.formats.protocol.address import TableAddress
from unit.cli.conftest import Lithify, named

COMMANDS = ["inspect", "plan", "compact", "expire", "expire-partitions", "manage-tags", "demo"]
HERE = ["--warehouse", "/nowhere", "--table", "db.t"]


def case(words: list[str], at_fault: str, id: str) -> Any:  # noqa: A002
    return pytest.param(words, at_fault, id=id)


@pytest.mark.parametrize(
    ("words", "at_fault"),
    [
        case(["vacuum"], "vacuum", id="a command that does not exist"),
        case(["inspect"], "--warehouse", id="no table at all"),
        case(["plan", "--warehouse", "/nowhere"], "--table", id="a warehouse but no table"),
        case(["compact", *HERE, "--colour", "red"], "--colour", id="an option that does not exist"),
        case(["inspect", *HERE, "--strategy", "full"], "--strategy", id="an option of other commands"),
        case(["inspect", *HERE, "more"], "more", id="a word too many"),
        case(["inspect", "--warehouse"], "--warehouse", id="an option without its value"),
        case(["compact", *HERE, "--strategy", "big"], "--strategy", id="a strategy that does not exist"),
        case(["compact", *HERE, "--rule", "3.0"], "--rule", id="a rule that does not exist"),
        case(["inspect", *HERE, "--limit", "few"], "--limit", id="a limit that is no number"),
        case(["inspect", *HERE, "--limit", "-1"], "--limit", id="a limit below nothing"),
        case(["inspect", *HERE, "--bucket", "5-3"], "--bucket", id="a bucket list that makes no sense"),
        case(["inspect", *HERE, "--partition", "2026"], "--partition", id="a partition without a column"),
        case(["inspect", *HERE, "--option", "x"], "--option", id="an option without a value"),
        case(["inspect", *HERE, "--catalog-option", "=x"], "--catalog-option", id="an option without a key"),
        case(["inspect", *HERE, "--time-zone", "Europe"], "--time-zone", id="half a time zone"),
        case(["inspect", *HERE], "/nowhere", id="a warehouse that does not exist"),
        case(["compact", *HERE, "--spark-conf", "x"], "--spark-conf", id="a Spark setting without a value"),
        case(["compact", *HERE, "--task-memory", "lots"], "--task-memory", id="memory that is no size"),
        case(["compact", *HERE, "--task-size", "0"], "--task-size", id="tasks of nothing"),
        case(["compact", *HERE, "--run-id", "a/b"], "--run-id", id="a run id that is not a word"),
        case(["compact", *HERE, "--run-id", ""], "--run-id", id="an empty run id"),
        case(["compact", *HERE, "--run-id", "x" * 64], "--run-id", id="a run id that is too long"),
        case(["compact", *HERE, "--run-id", "a\n"], "--run-id", id="a run id with the end of a line"),
        case(["operator", "--allow-address", "http://x"], "--allow-address", id="a URL as address"),
        case(["operator", "--own-identity", "s3://lake"], "--own-identity", id="rights for nobody"),
        case(["-x"], "-x", id="an option of no command"),
    ],
)
def test_bad_usage_is_one_sentence_and_two(lithify: Lithify, words: list[str], at_fault: str) -> None:
    ended = lithify(*words)
    assert ended.code == 2
    assert ended.sentence.startswith("lithify: ")
    assert at_fault in ended.sentence


@pytest.mark.parametrize("words", [(), ("-v",)], ids=["nothing at all", "only -v"])
def test_no_command_shows_them_all(lithify: Lithify, words: tuple[str, ...]) -> None:
    ended = lithify(*words)
    assert (ended.code, ended.out) == (2, "")
    assert [command for command in COMMANDS if command not in ended.err] == []


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_of_every_command(lithify: Lithify, command: str, flag: str) -> None:
    ended = lithify(*command.split(), flag)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"Usage: lithify {command}".rstrip())


@pytest.mark.parametrize("command", ["inspect", "plan", "compact"])
def test_help_names_every_option_of_the_documentation(lithify: Lithify, command: str) -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "commands.md"
    shared, _, rest = page.read_text().partition("\n## lithify inspect")
    section = rest.partition("\n## lithify compact")[2].partition("\n## ")[0]
    own = section if command == "compact" else ""
    told = {line.split("`")[1].split()[0] for line in (shared + own).splitlines() if line.startswith("| `--")}
    found = cli.get_command(click.Context(cli), command)
    assert found is not None
    known = {option for param in found.params for option in param.opts}
    assert "--warehouse" in told
    assert told <= known
    assert ("--strategy" in told) == (command == "compact")


def test_the_version_is_printed(lithify: Lithify) -> None:
    assert __version__ in lithify("--version").out


ERRORS = [
    (InvalidOption("--bucket", "no list"), 2),
    (NotFound("table", "db.t"), 2),
    (UnsupportedTable("db.t", ("orc",)), 2),
    (CorruptTable("/t/m", "cut off"), 1),
    (MissingFile("/t/d"), 1),
    (StorageError("/t/d", "no space"), 1),
    (CommitUnknown("/t/s", "gone"), 1),
    (AttemptFenced("/t/j", "too old"), 1),
    (TaskFailed("four times"), 1),
    (OutOfMemory("/t/d", "9 GB"), 1),
    (CommitConflict("db.t", ("bucket-0",), 3), 3),
]


class TestErrors:
    @pytest.fixture
    def fails_with(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        """Adds a command `fail` that ends in an error."""

        def add(error: BaseException) -> None:
            @click.command()
            def fail() -> None:
                raise error

            monkeypatch.setitem(cli.commands, "fail", fail)

        return add

    @pytest.mark.parametrize(("error", "code"), ERRORS, ids=[type(error).__name__ for error, _ in ERRORS])
    def test_of_ours_end_with_their_code_and_message(
        self, lithify: Lithify, fails_with: Any, error: LithifyError, code: int
    ) -> None:
        fails_with(error)
        ended = lithify("fail")
        assert ended.code == code
        assert ended.sentence == f"lithify: {error}"

    def test_verbose_adds_the_traceback(self, lithify: Lithify, fails_with: Any) -> None:
        fails_with(NotFound("table", "db.t"))
        ended = lithify("-v", "fail")
        assert ended.code == 2
        assert "Traceback" in ended.err
        assert ended.err.splitlines()[-1] == f"lithify: {NotFound('table', 'db.t')}"

    @pytest.mark.parametrize("error", [KeyError("x"), RecursionError(), OSError(5, "broken")])
    def test_nobody_thought_of_are_named_without_a_traceback(
        self, lithify: Lithify, fails_with: Any, error: Exception
    ) -> None:
        fails_with(error)
        ended = lithify("fail")
        assert ended.code == 1
        assert type(error).__name__ in ended.sentence

    def test_a_module_that_is_missing_is_named_and_where_it_is(
        self, lithify: Lithify, fails_with: Any
    ) -> None:
        fails_with(ModuleNotFoundError("No module named 'cel'", name="cel"))
        ended = lithify("fail")
        assert ended.code == 1
        assert "cel" in ended.sentence
        assert "Spark image" in ended.sentence
        assert "bug" not in ended.sentence

    @pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
    def test_interruption_is_not_an_error(
        self, lithify: Lithify, fails_with: Any, error: BaseException
    ) -> None:
        fails_with(error)
        ended = lithify("fail")
        assert (ended.code, ended.out) == (130, "")
        assert "lithify:" not in ended.err

    def test_messages_are_not_markup(self, lithify: Lithify, fails_with: Any) -> None:
        fails_with(NotFound("table", "db.[red]t[/red]:bug:"))
        assert "db.[red]t[/red]:bug:" in lithify("fail").sentence


class TestTables:
    """What only shows once the table is open."""

    @pytest.mark.parametrize("command", ["inspect", "plan", "compact"])
    @pytest.mark.parametrize(
        ("words", "named_thing"),
        [
            pytest.param(["--partition", "hr=12"], "hr", id="a partition column that does not exist"),
            pytest.param(["--partition", "dt=2026-01-03"], "dt=2026-01-03", id="a partition without files"),
            pytest.param(["--bucket", "0-2"], "2", id="a bucket without files"),
            pytest.param(["--option", "merge-engine=first-row"], "merge-engine", id="an option of the rows"),
            pytest.param(["--option", "num-levels=many"], "num-levels", id="an option with a bad value"),
            pytest.param(["--table", "shop.missing"], "shop.missing", id="a table that does not exist"),
            pytest.param(["--table", "orders"], "orders", id="a table without a database"),
        ],
    )
    def test_wrong_requests_name_the_thing(
        self, lithify: Lithify, orders: TableAddress, command: str, words: list[str], named_thing: str
    ) -> None:
        ended = lithify(command, *named(orders), *words)
        assert ended.code == 2
        assert named_thing in ended.sentence


@pytest.mark.thorough
def test_made_table_comes_with_the_next_command(lithify: Lithify, tmp_path: Path) -> None:
    folder = str(tmp_path / "demo")
    said = lithify("demo", "--only-make", "--folder", folder)
    (line,) = (line for line in said.out.splitlines() if line.startswith("Look around: "))
    program, *words = shlex.split(line.removeprefix("Look around: "))
    assert Path(shutil.which(program) or program).name == "lithify"
    assert lithify(*words).code == 0
    assert f" compact --warehouse {folder} " in said.out
