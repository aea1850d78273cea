"""Catalog options from Secrets: fetched when needed, cached for a limited time, never listed.

Used for observations of tables. The driver gets its own copy from the kubelet; nothing of a Secret goes into
status, events or logs. Only the keys that a Catalog names are cached, and only for that Catalog.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol

from lithify.controller.api import Api
from lithify.errors import InvalidOption, NotFound
from lithify.redaction import is_telling
from lithify.resources.catalog import Catalog, SecretReference, catalog_options, is_credential
from lithify.resources.names import SECRET, ObjectKey
from lithify.settings import catalog_option

KEPT_SECONDS = 300.0
"""Seconds until a changed Secret is noticed, unless the catalog refuses the old credentials earlier."""
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
    """The options that one Catalog's reference named, and when they were fetched."""

    reference: SecretReference
    fetched: float
    options: Mapping[str, str] = field(repr=False)


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

    async def of_catalog(self, catalog: Catalog) -> dict[str, str]:
        """All options of a catalog in pypaimon's form, including those from its Secret.

        Raises:
            NotFound: the Secret, or a key of it, does not exist.
            InvalidOption: the values are too long, or the Catalog itself contains credentials.
        """
        key, spec = catalog.metadata.key, catalog.spec
        secret = await self._of_secret(key, spec.secret_ref) if spec.secret_ref is not None else {}
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
        self._kept.pop(catalog, None)

    def forget(self, catalog: ObjectKey) -> None:
        """Forgets a deleted catalog."""
        self._kept.pop(catalog, None)
        self.hidden.forget(catalog)

    async def _of_secret(self, catalog: ObjectKey, reference: SecretReference) -> Mapping[str, str]:
        kept = self._kept.get(catalog)
        is_same = kept is not None and kept.reference == reference
        if kept is not None and is_same and self.ticks() < kept.fetched + KEPT_SECONDS:
            return kept.options
        self._kept.pop(catalog, None)
        options = await self.options(catalog.namespace, reference)
        self._kept[catalog] = _Kept(reference, self.ticks(), options)
        return options
