"""Catalog options from Secrets: fetched when needed, cached for a limited time, never listed.

Used for observations of tables. The driver gets its own copy from the kubelet; nothing of a Secret goes into
status, events or logs. Only the keys that a Catalog names are cached, and only for that Catalog. While a
catalog is in trouble, its Secret is read again every few seconds: docs/design/0066-mended-credentials.md.
"""

from __future__ import annotations

import math
from base64 import b64decode
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Protocol

from lithify.controller.api import Api
from lithify.errors import ClusterRefused, InvalidOption, NotFound, UserError
from lithify.redaction import is_telling
from lithify.resources.catalog import Catalog, SecretReference, catalog_options, is_credential
from lithify.resources.names import SECRET, ObjectKey
from lithify.settings import catalog_option

KEPT_SECONDS = 300.0
"""Seconds until a changed Secret is noticed while its catalog works."""
SUSPECT_SECONDS = 5.0
"""The same while its catalog cannot be used, because the Secret may be why."""
MOST_CHARACTERS = 1 << 16
"""Limit on the total length of all values that a catalog takes from its Secret."""


class Hidden(Protocol):
    """Redacts credentials from texts about their catalog."""

    def replace(self, catalog: ObjectKey, values: Iterable[str], ordinary: Collection[str] = ()) -> None:
        """Replaces the catalog's values."""
        ...

    def forget(self, catalog: ObjectKey) -> None:
        """Forgets a deleted catalog."""
        ...


@dataclass(frozen=True, slots=True)
class _Kept:
    """The options that one Catalog's reference named, None if it could not be read.

    Attributes:
        reference: the reference; None if none was ever read.
        fetched: when that was, in ticks.
        options: the options.
        version: number of times that the options were found changed.
    """

    reference: SecretReference | None
    fetched: float
    options: Mapping[str, str] | None = field(repr=False)
    version: int


_NEVER_READ = _Kept(None, -math.inf, None, 0)
_EXPOSED = (
    "credentials belong into a Secret, because all who may read Catalogs can read this: name the Secret and "
    "its keys in spec.secretRef"
)


@dataclass(slots=True)
class Secrets:
    """Cached catalog options from Secrets.

    Attributes:
        api: the API server.
        hidden: receives each catalog's credentials for redaction.
        ticks: monotonic clock, in seconds.
    """

    api: Api
    hidden: Hidden
    ticks: Callable[[], float] = monotonic
    _kept: dict[ObjectKey, _Kept] = field(default_factory=dict)

    async def of_catalog(self, catalog: Catalog, most_age: float = KEPT_SECONDS) -> dict[str, str]:
        """All options of a catalog in pypaimon's form, including those from its Secret.

        Args:
            catalog: the Catalog.
            most_age: the Secret is fetched if that was longer ago, in seconds.

        Raises:
            NotFound: the Secret, or a key of it, does not exist.
            InvalidOption: the values are too long, or the Catalog itself contains credentials.
        """
        key, spec = catalog.metadata.key, catalog.spec
        secret = await self._of_secret(key, spec.secret_ref, most_age) if spec.secret_ref is not None else {}
        options = catalog_options(spec, secret)
        telling = {name: value for name, value in spec.options.items() if is_telling(name)}
        plain = [value for name, value in spec.options.items() if name not in telling]
        ordinary = [key.namespace, key.name, spec.warehouse, spec.uri or "", *plain]
        self.hidden.replace(key, [*secret.values(), *telling.values()], ordinary)
        for name in filter(is_credential, spec.options):
            raise InvalidOption(catalog_option(name).field, _EXPOSED)
        return options

    async def options(self, namespace: str, reference: SecretReference) -> dict[str, str]:
        """The catalog options that a reference names, fetched now.

        Raises:
            NotFound: the Secret, or a key of it, does not exist.
            InvalidOption: the values are too long.
        """
        key = ObjectKey(namespace, reference.name)
        secret = await self.api.get(SECRET, key)
        if secret is None:
            raise NotFound("Secret", str(key), "spec.secretRef of the Catalog names it")
        encoded: Mapping[str, str] = {**(secret.get("data") or {})}
        plain: Mapping[str, str] = secret.get("stringData") or {}
        missing = sorted(set(reference.options.values()) - encoded.keys() - plain.keys())
        if missing:
            raise NotFound(
                "key",
                f"{', '.join(missing)} in Secret {key}",
                "spec.secretRef.options of the Catalog names it",
            )
        found = {
            option: plain[name] if name in plain else b64decode(encoded[name]).decode(errors="replace")
            for option, name in reference.options.items()
        }
        length = sum(map(len, found.values()))
        if length > MOST_CHARACTERS:
            problem = (
                f"the values in Secret {key} have {length} characters; at most {MOST_CHARACTERS} are read"
            )
            raise InvalidOption("spec.secretRef.options", problem)
        return found

    def refused(self, catalog: ObjectKey) -> None:
        """Invalidates a catalog's cached options after the catalog has refused them."""
        kept = self._kept.get(catalog)
        if kept is not None:
            self._kept[catalog] = replace(kept, fetched=-math.inf)

    def version(self, catalog: ObjectKey) -> int:
        """Number of times that a catalog's options from its Secret were found changed."""
        kept = self._kept.get(catalog)
        return 0 if kept is None else kept.version

    def forget(self, catalog: ObjectKey) -> None:
        """Forgets a deleted catalog."""
        self._kept.pop(catalog, None)
        self.hidden.forget(catalog)

    async def _of_secret(
        self, catalog: ObjectKey, reference: SecretReference, most_age: float
    ) -> Mapping[str, str]:
        kept = self._kept.get(catalog, _NEVER_READ)
        is_fresh = kept.reference == reference and self.ticks() < kept.fetched + most_age
        if kept.options is not None and is_fresh:
            return kept.options
        try:
            options = await self.options(catalog.namespace, reference)
        except (UserError, ClusterRefused):
            self._kept[catalog] = _Kept(reference, self.ticks(), None, kept.version)
            raise
        version = kept.version + (options != kept.options)
        self._kept[catalog] = _Kept(reference, self.ticks(), options, version)
        return options
