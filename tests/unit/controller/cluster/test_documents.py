"""Files are read as kubectl reads them, and a mistake in one document leaves the others."""

from __future__ import annotations

from typing import Any

import pytest

from lithify.controller.cluster.documents import Document, Flaw, read_documents
from lithify.resources.names import LAKE_TABLE, ObjectKey
from support.cases import case

HEAD = "apiVersion: lithify.dev/v1alpha1\nkind: LakeTable\n"


def table(name: str = "orders", spec: str = "{}") -> str:
    return f"{HEAD}metadata: {{name: {name}}}\nspec: {spec}\n"


def one(text: str) -> Document:
    [found] = read_documents("f.yaml", text)
    assert isinstance(found, Document), found
    return found


def test_documents_between_separators_comments_and_nothing() -> None:
    text = f"# only a comment\n---\n{table('a')}--- # more\n{table('b')}---\n\n---\n{table('c')}"
    found = list(read_documents("f.yaml", text))
    assert [(d.key, d.number, d.line) for d in found if isinstance(d, Document)] == [
        (ObjectKey("default", "a"), 1, 3),
        (ObjectKey("default", "b"), 2, 7),
        (ObjectKey("default", "c"), 3, 15),
    ]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        case("{<<: {a: 1}, b: 2}", {"a": 1, "b": 2}, id="a merged mapping"),
        case("22:30", "22:30", id="a time of day"),
        case("2026-11-21", "2026-11-21", id="a date"),
        case("2026-11-21T10:00:00Z", "2026-11-21T10:00:00Z", id="a time"),
        case("yes", True, id="yes"),
        case("12", 12, id="a number"),
        case("-3", -3, id="a negative number"),
        case("0", 0, id="zero"),
        case("0x10", 16, id="a hexadecimal number"),
        case("1.5", 1.5, id="a fraction"),
        case("1e3", 1000.0, id="a power"),
        case("1.2.3", "1.2.3", id="a release"),
        case("08", "08", id="no octal number"),
        case("'12'", "12", id="quoted"),
        case("{1: a, true: b}", {"1": "a", "true": "b"}, id="names become text"),
        case("null", None, id="null"),
    ],
)
def test_scalars_have_the_type_that_yaml_gives_them(written: str, value: Any) -> None:
    assert one(table(spec=f"{{v: {written}}}")).body["spec"]["v"] == value


def test_only_what_people_may_set_is_kept() -> None:
    found = one(
        f"{HEAD}metadata: {{name: a, namespace: n, uid: u, resourceVersion: '7', generation: 3,"
        " labels: {a: b}, annotations: {c: d}, ownerReferences: [], finalizers: [x]}\n"
        "spec: {}\nstatus: {x: 1}\n"
    )
    assert found.body["metadata"] == {
        "name": "a",
        "namespace": "n",
        "labels": {"a": "b"},
        "annotations": {"c": "d"},
    }
    assert "status" not in found.body
    assert found.kind is LAKE_TABLE


def test_a_list_as_kubectl_prints_it() -> None:
    text = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: s}}\n"
    assert one(text).key == ObjectKey("default", "s")


@pytest.mark.parametrize(
    "text",
    [
        case("", id="nothing"),
        case("---\n---\n# nothing\n", id="only separators"),
        case("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n", id="another kind"),
        case("apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: x}\n", id="another kind, flawed"),
    ],
)
def test_what_does_not_concern_us_is_no_flaw(text: str) -> None:
    assert list(read_documents("f.yaml", text)) == []


TEN = ", ".join(["*a{0}"] * 10)
BOMB = "[&a0 [x, x], " + ", ".join(f"&a{n + 1} [{TEN.format(n)}]" for n in range(6)) + "]"
STAIRS = "[&a0 [x], " + ", ".join(f"&a{n + 1} [*a{n}]" for n in range(200)) + "]"


@pytest.mark.parametrize(
    ("flawed", "word"),
    [
        case("a: [1, 2\n", "not YAML", id="a bracket is open"),
        case(f"{HEAD}metadata:\n  name: 'half\n", "not YAML", id="cut off"),
        case(f"{HEAD}spec: {{}}\nspec: {{}}\nmetadata: {{name: a}}\n", "twice", id="a field twice"),
        case("just text\n", "object", id="no object"),
        case("[1]\n", "object", id="a list"),
        case("kind: LakeTable\n", "apiVersion", id="no apiVersion"),
        case("apiVersion: lithify.dev/v1alpha1\nkind: Laketable\n", "Laketable", id="a kind misspelt"),
        case("apiVersion: lithify.dev/v1beta9\nkind: LakeTable\n", "v1beta9", id="a version of the future"),
        case(HEAD, "metadata", id="no metadata"),
        case(f"{HEAD}metadata: {{generateName: a}}\n", "metadata.name", id="no name"),
        case(f"{HEAD}metadata: {{name: A}}\n", "metadata.name", id="capitals"),
        case(f"{HEAD}metadata: {{name: ../../x}}\n", "metadata.name", id="a path"),
        case(f'{HEAD}metadata: {{name: "a\\n"}}\n', "metadata.name", id="a line break"),
        case(f"{HEAD}metadata: {{name: {'a' * 254}}}\n", "metadata.name", id="too long"),
        case(
            f"{HEAD}metadata: {{name: a, namespace: b.c}}\n",
            "metadata.namespace",
            id="a namespace with a dot",
        ),
        case(f"{HEAD}metadata: {{name: a, labels: {{b: 1}}}}\n", "metadata.labels", id="a number as a label"),
        case(
            f"{HEAD}metadata: {{name: a, annotations: [b]}}\n",
            "metadata.annotations",
            id="annotations as a list",
        ),
        case(table(spec="!!binary aGk="), "bytes", id="bytes"),
        case(table(spec="!!python/object:os.system {}"), "not YAML", id="code"),
        case(table(spec=BOMB), "values", id="aliases of aliases"),
        case(table(spec="&x [*x]"), "", id="a value that holds itself"),
        case(table(spec="{? [1, 2] : 3}"), "", id="a list as a name"),
        case(table(spec=f"{'[' * 70}{']' * 70}"), "deeper", id="deeper than any object"),
        case(table(spec=f"{'[' * 900}{']' * 900}"), "deeper", id="deeper than Python can go"),
        case(table(spec="{a: " * 100_000), "deeper", id="deeper than YAML can go"),
        case(table(spec=STAIRS), "deeper", id="deeper by aliases"),
        case("- " * 100_000 + "\n", "deeper", id="a list in a list in a list"),
        case(table(spec=f"{{a: {'9' * 5000}}}"), "", id="more digits than Python reads"),
        case(table(spec=f"{{a: 0x{'f' * 5000}}}"), "", id="more digits than Python writes"),
        case(table(spec="{a: 1.0e999}"), "", id="infinity"),
        case(table(spec="{a: 9223372036854775808}"), "64 bits", id="one too many"),
        case(table(spec='{a: "\\ud800"}'), "", id="half a character"),
    ],
)
def test_a_flaw_leaves_the_others(flawed: str, word: str) -> None:
    first, found, last = read_documents("f.yaml", f"{table('a')}---\n{flawed}---\n{table('z')}")
    assert isinstance(first, Document)
    assert isinstance(last, Document)
    assert isinstance(found, Flaw)
    assert (found.file, found.document) == ("f.yaml", 2)
    assert found.line == first.line + 5
    assert word in found.message
    assert "\n" not in str(found)
