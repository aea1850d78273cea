"""`lithify import`: reads a file or standard input, and prints objects below notes."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import yaml

from support.cases import case
from unit.cli.conftest import Lithify

CALL = "CALL prod_1.system.rewrite_data_files(table => 'db.t', options => map('min-input-files', '8'))"


def test_file_becomes_objects(lithify: Lithify, tmp_path: Path) -> None:
    file = tmp_path / "nightly.sql"
    file.write_text(CALL)
    ended = lithify("import", str(file), "--name", "nightly")
    assert (ended.code, ended.err) == (0, "")
    policy, table = yaml.safe_load_all(ended.out)
    assert policy["metadata"] == {"name": "nightly"}
    assert table["spec"] == {
        "catalogRef": {"name": "prod-1"},
        "identifier": "db.t",
        "policyRef": {"name": "nightly"},
    }


def test_standard_input_is_read(lithify: Lithify, monkeypatch: pytest.MonkeyPatch) -> None:
    text = io.TextIOWrapper(io.BytesIO(b"self-optimizing.target-size=1048576"))
    monkeypatch.setattr("sys.stdin", text)
    (policy,) = yaml.safe_load_all(lithify("import").out)
    assert policy["spec"]["triggers"] == {"partitionFiles": {"outputFileSize": "1Mi"}}


def test_missing_file_is_told(lithify: Lithify, tmp_path: Path) -> None:
    ended = lithify("import", str(tmp_path / "none.sql"))
    assert (ended.code, ended.sentence) == (2, f"lithify: {tmp_path}/none.sql: No such file or directory")


def test_catalog_and_table_are_named(lithify: Lithify, tmp_path: Path) -> None:
    file = tmp_path / "properties"
    file.write_text("self-optimizing.enabled=true")
    ended = lithify("import", str(file), "--catalog", "polaris", "--table", "web.eu.clicks")
    policy, table = yaml.safe_load_all(ended.out)
    assert table["spec"] == {
        "catalogRef": {"name": "polaris"},
        "identifier": "web.eu.clicks",
        "policyRef": {"name": policy["metadata"]["name"]},
    }


def test_tables_of_like_names_are_told_apart(lithify: Lithify, tmp_path: Path) -> None:
    file = tmp_path / "x.sql"
    file.write_text(f"{CALL};{CALL.replace('db.t', 'DB.T')};{CALL.replace('db.t', 'd.b.t')}")
    names = [each["metadata"]["name"] for each in yaml.safe_load_all(lithify("import", str(file)).out)]
    assert len(set(names)) == 4


def test_two_tables_do_not_become_one(lithify: Lithify, tmp_path: Path) -> None:
    file = tmp_path / "x.sql"
    file.write_text(f"{CALL};{CALL.replace('prod_1', 'test')}")
    assert lithify("import", str(file)).code == 0
    assert "two catalogs of the settings have db.t" in lithify("import", str(file), "--catalog", "c").sentence


def test_values_end_no_comment(lithify: Lithify, tmp_path: Path) -> None:
    file = tmp_path / "x.sql"
    file.write_text(CALL.replace("'8'", "'8', 'a\nkind: Secret', 'b\nspec: {}\u2028x: y\x1b[2J'"))
    ended = lithify("import", str(file))
    assert len(list(yaml.safe_load_all(ended.out))) == 2
    comments = ended.out.partition("\n\n")[0]
    assert [line for line in comments.splitlines() if not line.startswith("#")] == []
    assert "\x1b" not in ended.out


@pytest.mark.parametrize(
    ("content", "words", "sentence"),
    [
        case(b"", (), "it has neither CALL statements nor properties of a table", id="nothing"),
        case(b"\xff\xfe", (), "it is no text in UTF-8", id="other encoding"),
        case(b"a=1\n" * 300_000, (), "it has more than 1,048,576 bytes", id="too much"),
        case(b"CALL s.p(", (), "line 1, column 10", id="half a statement"),
        case(b"a=1", ("--name", "Not_A_Name"), "--name: the name of an object has lower-case", id="bad name"),
        case(b"a=1", ("--catalog", "a b"), "--catalog: the name of an object has", id="bad catalog"),
        case(b"a=1", ("--table", "t"), "table: a table has to be named as database.table", id="bad table"),
    ],
)
def test_what_cannot_be_imported_is_one_sentence(
    lithify: Lithify, tmp_path: Path, content: bytes, words: tuple[str, ...], sentence: str
) -> None:
    file = tmp_path / "x"
    file.write_bytes(content)
    ended = lithify("import", str(file), *words)
    assert ended.code == 2
    assert sentence in ended.sentence
