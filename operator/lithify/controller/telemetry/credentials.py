"""Redacts each catalog's credentials from texts that concern this catalog, and from no others.

`reconciling` says which catalog its work concerns (`concerning`), and what the catalog's credentials are
(`CatalogCredentials.replace`); `logs` redacts by that. If credentials applied to other tenants' texts, a
tenant could make their messages unreadable, and find out their credentials by trial.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from lithify.redaction import NOTHING_KNOWN, Own, Redactor
from lithify.resources.names import ObjectKey


def _no_texts() -> Collection[str]:
    return ()


@dataclass(frozen=True, slots=True)
class _Concern:
    catalog: ObjectKey | None = None
    own: Own = _no_texts


_concern: ContextVar[_Concern] = ContextVar("concern", default=_Concern())  # noqa: B039  # frozen


@contextmanager
def concerning(catalog: ObjectKey | None, own: Own = _no_texts) -> Iterator[None]:
    """Sets the catalog that all texts inside concern, also those of tasks begun in it; None for no catalog.

    `own`: texts that the tenant has written into the current object; see `Redactor.redact`.
    """
    token = _concern.set(_Concern(catalog, own))
    try:
        yield
    finally:
        _concern.reset(token)


@dataclass(slots=True)
class CatalogCredentials:
    """The credentials of all catalogs; texts that concern none are redacted by telling names alone."""

    _redactors: dict[ObjectKey, tuple[int, Redactor]] = field(default_factory=dict)

    def replace(self, catalog: ObjectKey, values: Iterable[str], ordinary: Collection[str] = ()) -> None:
        """Replaces the credentials of a catalog; see `Redactor`."""
        known, given = self._redactors.get(catalog), (tuple(values), tuple(ordinary))
        if known is None or known[0] != hash(given):
            self._redactors[catalog] = (hash(given), Redactor(*given))

    def forget(self, catalog: ObjectKey) -> None:
        """Removes the credentials of a deleted catalog."""
        self._redactors.pop(catalog, None)

    def redact(self, text: str) -> str:
        """Redacts a text for readers of the object that it concerns."""
        redactor, own = self._at_hand()
        return redactor.redact(text, own)

    def redact_end(self, text: str, most: int) -> str:
        """Redacts the end of a long text."""
        redactor, own = self._at_hand()
        return redactor.redact_end(text, most, own)

    def _at_hand(self) -> tuple[Redactor, Own]:
        concern = _concern.get()
        found = self._redactors.get(concern.catalog) if concern.catalog is not None else None
        return (NOTHING_KNOWN if found is None else found[1]), concern.own
