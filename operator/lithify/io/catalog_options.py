"""Which options a Catalog may set, and the form of their values: the rules that adapters fill in. Pure.

Called by adapters before any connection, and for what a catalog's server sends. Libraries of table formats
honour far more options: some load classes, read local files, or connect to other addresses. Only the options
that an adapter lists reach them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from lithify.errors import InvalidOption
from lithify.settings import METASTORE, URI, catalog_option

Check = Callable[[str], str | None]
"""Returns what is wrong with a value, None if it is valid."""

FOLDER = "filesystem"
"""The metastore of Catalogs that name none."""

_BESIDE = ("metastore", "uri")
"""Options that have checks of their own."""
_HEADER = "header."
_HEADER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}")
_OWN_HEADERS = frozenset(
    {
        *("authorization", "host", "connection", "content-length", "content-type", "content-encoding"),
        *("transfer-encoding", "te", "trailer", "upgrade", "expect", "accept-encoding", "range"),
    }
)
_URL_PATH = re.compile(r"(/[A-Za-z0-9_~.-]+)*/?")
_URL_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?)(:[0-9]{1,5})?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class CatalogOptions:
    """The options of the catalogs of one table format.

    Attributes:
        known: the options of each metastore.
        families: what the names of further options begin with, such as those for one account of a store.
        uris: the metastores that need a URI, and its form.
        from_server: what a REST server may set for its clients.
        skips_empty: whether an empty value of a server means none; else its form is checked like any other.
        control_characters: those of them whose values may have control characters.
        own_headers: headers that the client sets itself, in lower case, in addition to those of all clients.
        format: what messages call the format, if other formats have other options.
    """

    known: Mapping[str, Mapping[str, Check]]
    uris: Mapping[str, Check]
    from_server: Mapping[str, Check]
    families: tuple[str, ...] = ()
    skips_empty: bool = False
    control_characters: frozenset[str] = field(default_factory=frozenset)
    own_headers: frozenset[str] = field(default_factory=frozenset)
    format: str = ""

    def metastore_of(self, options: Mapping[str, str]) -> str:
        """The kind of catalog.

        Raises:
            InvalidOption: this release does not know it.
        """
        metastore = options.get("metastore", FOLDER)
        if metastore not in self.known:
            known = ", ".join(self.known)
            raise InvalidOption(METASTORE, f"this release does not know '{metastore}', only {known}")
        return metastore

    def check(self, warehouse: str, options: Mapping[str, str]) -> None:
        """Refuses unknown options, and values that are ambiguous.

        Raises:
            InvalidOption: names the first of them.
        """
        metastore = self.metastore_of(options)
        _check_value("warehouse", warehouse, anything)
        for name in sorted(options):
            self._check(name, str(options[name]), metastore)
        self._check_uri(metastore, options)

    def sent(self, found: object) -> dict[str, str]:
        """The options of a REST server that it may set for its clients; others are dropped.

        Raises:
            TypeError: the value is not a map of options.
            InvalidOption: an option's value cannot be used.
        """
        if found is None:
            return {}
        if not isinstance(found, Mapping):
            raise TypeError(f"a {type(found).__name__} is no mapping of options")
        taken = {}
        for name, value in found.items():
            if name in self.from_server and isinstance(value, str) and (value or not self.skips_empty):
                label = f"{name}, which the catalog's server sets"
                is_free = name in self.control_characters
                _check_value(label, value, self.from_server[name], allows_control=is_free)
                taken[name] = value
        return taken

    def is_about_files(self, name: str) -> bool:
        """Whether an option has a meaning for the files of tables, whatever the metastore."""
        return name in self.known[FOLDER] or name.startswith(self.families)

    def _check(self, name: str, value: str, metastore: str) -> None:
        if name in _BESIDE:
            return
        if name == "warehouse":
            raise InvalidOption(catalog_option(name), "it stands beside the options, not among them")
        if metastore == "rest" and name.startswith(_HEADER):
            self._check_header(name, value)
            return
        check = anything if name.startswith(self.families) else self.known[metastore].get(name)
        if check is None:
            kind = f"{self.format} and the metastore" if self.format else "the metastore"
            problem = (
                f"it is no catalog option that this release knows for {kind} {metastore}; "
                "docs/commands.md lists the known options"
            )
            raise InvalidOption(catalog_option(_CONTROL.sub("?", name[:128])), problem)
        _check_value(name, value, check, allows_control=name in self.control_characters)

    def _check_header(self, name: str, value: str) -> None:
        header = name.removeprefix(_HEADER)
        lower = header.lower()
        is_ours = lower in _OWN_HEADERS or lower in self.own_headers or lower.startswith("proxy-")
        if is_ours or not _HEADER_NAME.fullmatch(header):
            raise InvalidOption(catalog_option(name), "this header cannot be set")
        _check_value(name, value, anything)

    def _check_uri(self, metastore: str, options: Mapping[str, str]) -> None:
        uri, check = options.get("uri"), self.uris.get(metastore)
        if check is None:
            if uri is not None:
                raise InvalidOption(URI, f"it has no meaning for the metastore {metastore}")
            return
        if uri is None:
            raise InvalidOption(URI, f"the metastore {metastore} needs it")
        _check_value("uri", uri, check)


def _check_value(name: str, value: str, check: Check, *, allows_control: bool = False) -> None:
    has_control = _CONTROL.search(value) is not None and not allows_control
    problem = "it contains control characters" if has_control else check(value)
    if problem is not None:
        raise InvalidOption(catalog_option(name), problem)


def anything(_: str) -> str | None:
    """No check."""
    return None


def boolean(text: str) -> str | None:
    """Whether a value is true or false."""
    return None if text.strip().lower() in ("true", "false") else f"'{text}' is neither true nor false"


def http_uri(text: str) -> str | None:
    """Whether a value is the address of a server."""
    scheme, colon, rest = text.partition("://")
    host, slash, path = rest.partition("/")
    is_plain = scheme.lower() in ("http", "https") and colon and _URL_HOST.fullmatch(host)
    segments = path.split("/")
    if not is_plain or not _URL_PATH.fullmatch(slash + path) or "." in segments or ".." in segments:
        return "it is not of the form https://host:port/path, without user, query or fragment"
    try:
        _ = urlsplit(text).port
    except ValueError:
        return "its port is none"
    return None
