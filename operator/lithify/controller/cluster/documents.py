"""Reads a YAML file: its documents, as `kubectl` reads them, and the mistakes in it.

Called by `sources`. Pure. Each document is parsed separately, so a mistake in one does not affect the others.
Values are plain JSON: times of day and dates stay text, as the API server sees them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from lithify.resources.names import OWN_KINDS, SECRET, ObjectKey, ResourceKind
from lithify.resources.objects import OBJECT_NAME

_SEPARATOR = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_MOST_VALUES = 100_000
_MOST_LEVELS = 64
"""Levels of a document; the schemas of our kinds need less than half as many."""
_LARGEST = 2**63 - 1
_LONGEST_NAME = 253
DEFAULT_NAMESPACE = "default"
KINDS: Mapping[tuple[str, str], ResourceKind] = {
    (kind.api_version, kind.name): kind for kind in (*OWN_KINDS, SECRET)
}
"""Kinds that users write into files."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """A mistake in a file.

    Attributes:
        file: path below the folder.
        document: which document of the file, from 1; 0 for the file itself.
        line: where the document begins, from 1; 0 for the file itself.
        message: what is wrong, with the field where there is one.
    """

    file: str
    document: int
    line: int
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line} (document {self.document})" if self.document else self.file
        return f"{place}: {self.message}"


@dataclass(frozen=True, slots=True)
class Document:
    """An object in a file; of its metadata only what people may set."""

    file: str
    number: int
    line: int
    kind: ResourceKind
    key: ObjectKey
    body: Mapping[str, Any]

    def flaw(self, message: str) -> Flaw:
        """Returns a mistake in this document."""
        return Flaw(self.file, self.number, self.line, message)


def read_documents(file: str, text: str) -> Iterator[Document | Flaw]:
    """Returns the objects of a file that concern Lithify, and the mistakes in its other documents."""
    starts = [0, *(match.end() for match in _SEPARATOR.finditer(text))]
    ends = [*(match.start() for match in _SEPARATOR.finditer(text)), len(text)]
    number = 0
    for start, end in zip(starts, ends, strict=True):
        chunk, line = text[start:end], text.count("\n", 0, start) + 1
        blank = len(chunk) - len(chunk.lstrip())
        line += chunk.count("\n", 0, blank)
        try:
            found = _plain(chunk)
        except Exception as error:  # noqa: BLE001  # whatever it is, it concerns one document
            number += 1
            yield Flaw(file, number, line, _one_line(error))
            continue
        if found is None:
            continue
        number += 1
        for body in _items(found):
            made = _document(file, number, line, body)
            if made is not None:
                yield made


def _items(found: object) -> list[object]:
    """The objects of a document: itself, or the items of a list as `kubectl get -o yaml` prints it."""
    if isinstance(found, dict) and (found.get("apiVersion"), found.get("kind")) == ("v1", "List"):
        items = found.get("items")
        return items if isinstance(items, list) else []
    return [found]


def _document(file: str, number: int, line: int, body: object) -> Document | Flaw | None:
    """Returns an object, the mistake in it, or None if it is not of our kinds."""
    try:
        kind = _kind(body)
        if kind is None or not isinstance(body, dict):
            return None
        key, metadata = _metadata(body.get("metadata"))
        rest = {name: value for name, value in body.items() if name not in ("metadata", "status")}
        return Document(file, number, line, kind, key, {**rest, "metadata": metadata})
    except (_Unfit, ValueError) as error:
        return Flaw(file, number, line, _one_line(error))


def _metadata(found: object) -> tuple[ObjectKey, dict[str, Any]]:
    """The object's key, and the part of its metadata that users may set."""
    if not isinstance(found, dict):
        raise _Unfit("metadata: it must hold the name of the object")
    key = object_key(found.get("namespace", DEFAULT_NAMESPACE), found.get("name"))
    texts = {name: _texts(found, name) for name in ("labels", "annotations")}
    kept = {name: value for name, value in texts.items() if value}
    return key, {"name": key.name, "namespace": key.namespace, **kept}


def object_key(namespace: object, name: object) -> ObjectKey:
    """The key of an object.

    Raises:
        ValueError: a name is missing, or Kubernetes does not accept it.
    """
    if not isinstance(name, str) or len(name) > _LONGEST_NAME or not re.match(OBJECT_NAME + r"\Z", name):
        raise ValueError(
            f"metadata.name: {name!r} is not a name; use at most 253 lower-case letters, digits, '-' and '.'"
        )
    if not isinstance(namespace, str) or not _NAMESPACE.fullmatch(namespace):
        raise ValueError(
            f"metadata.namespace: {namespace!r} is not a namespace; "
            "use at most 63 lower-case letters, digits and '-'"
        )
    return ObjectKey(namespace, name)


def _kind(body: object) -> ResourceKind | None:
    if not isinstance(body, dict):
        raise _Unfit("a document is an object with apiVersion, kind, metadata and spec")
    version, name = body.get("apiVersion"), body.get("kind")
    if not isinstance(version, str) or not isinstance(name, str):
        raise _Unfit("apiVersion and kind must be texts that name a kind")
    kind = KINDS.get((version, name))
    group = OWN_KINDS[0].group
    if kind is None and version.startswith(f"{group}/"):
        known = ", ".join(kind.name for kind in OWN_KINDS)
        raise _Unfit(f"kind: there is no {name} in {version}; {OWN_KINDS[0].api_version} has {known}")
    return kind


def _texts(metadata: dict[str, Any], name: str) -> dict[str, str]:
    found = metadata.get(name) or {}
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise _Unfit(f"metadata.{name}: values must be text; put numbers, true and false into quotes")
    return found


def _one_line(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem:
        place = f" (line {error.problem_mark.line + 1} of the document)" if error.problem_mark else ""
        return f"it is not YAML: {error.problem}{place}"
    return " ".join(str(error).split()) or type(error).__name__


class _Unfit(ValueError):
    """A document that cannot be an object."""


def _plain(text: str) -> Any:
    """Returns a YAML document as JSON values, with nothing shared.

    Raises:
        ValueError: it has values that an API server would refuse, or is deeper or larger than any object.
        YAMLError: it is not YAML.
    """
    _check_size(text)
    found = yaml.load(text, Loader=_Loader)  # noqa: S506  # builds plain data only
    try:
        as_json = json.dumps(found, ensure_ascii=False, allow_nan=False)
        as_json.encode()
    except UnicodeEncodeError as error:
        raise _Unfit("a text has a lone surrogate") from error
    except (TypeError, ValueError) as error:
        raise _Unfit(f"a value has a type that objects cannot hold ({error})") from error
    return json.loads(as_json, parse_int=_whole_number)


def _check_size(text: str) -> None:
    """Refuses excessive depth and nested aliases before the document is built: the loader recurses in C.

    An alias counts as the values and levels beneath its anchor.
    """
    anchors: dict[str | None, tuple[int, int]] = {}
    around: list[tuple[str | None, int, int]] = [(None, 0, 0)]  # open collections: anchor, values, levels
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            around.append((event.anchor, 1, 1))
            values, levels = 0, 0
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, values, levels = around.pop()
            anchors[anchor] = values, levels
        elif isinstance(event, yaml.ScalarEvent):
            values, levels = anchors[event.anchor] = 1, 1
        elif isinstance(event, yaml.AliasEvent):
            values, levels = anchors.get(event.anchor, (_MOST_VALUES, 0))
        else:
            continue
        anchor, values_before, levels_before = around[-1]
        around[-1] = anchor, values_before + values, max(levels_before, levels + 1)
        if len(around) + around[-1][2] - 2 > _MOST_LEVELS:
            raise _Unfit(f"it is nested deeper than {_MOST_LEVELS} levels")
        if around[-1][1] > _MOST_VALUES:
            raise _Unfit(f"it has more than {_MOST_VALUES} values, or an alias without an anchor")


def _whole_number(text: str) -> int:
    if not -_LARGEST <= (number := int(text)) <= _LARGEST:
        raise _Unfit("a whole number is too large for 64 bits")
    return number


class _Loader(yaml.CSafeLoader):
    """Parses as numbers only what Kubernetes does: `22:30` is a time of day, not 1350."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Field names are text; a mapping with a duplicate field is refused, as by `kubectl`."""
        seen = set()
        for key, _value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(
                    None, None, "the name of a field must be text", key.start_mark
                )
            if key.tag == _BOOL:
                key.value = "true" if self.bool_values[key.value.lower()] else "false"
            if key.tag != _MERGE:
                key.tag = _TEXT
            if key.value in seen:
                problem = f"the field {key.value} appears twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


_TEXT, _BOOL, _MERGE = (f"tag:yaml.org,2002:{name}" for name in ("str", "bool", "merge"))
_DROPPED = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _DROPPED]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int",
    re.compile(r"[-+]?(0b[01_]+|0o?[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)$"),
    list("-+0123456789"),
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"[-+]?([0-9][0-9_]*\.[0-9_]*([eE][-+]?[0-9]+)?|\.[0-9]+([eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)$"
    ),
    list("-+0123456789."),
)
