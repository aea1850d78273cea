"""Maps the responses of object stores to our errors.

Used by `bucket` around every request. An object counts as missing only if the store says so with its own
error code: a bare 404 may come from a proxy, an ingress or another service, and trusting it would make
existing tables disappear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)

from lithify.errors import NotAllowed, StorageError, StorageUnavailable
from lithify.io.network_words import network_words, words_of
from lithify.io.objects.settings import Dialect

NO_BUCKET = "the bucket does not exist"
"""Text of the `StorageError` for a missing bucket."""

_STATUS = re.compile(r"non-2xx status code: (\d{3})")
_CODE = re.compile(r"<Code>([A-Za-z0-9]{1,64})</Code>")
_CONNECTION = re.compile(r"HTTP error: (error sending request|request or response body error)")
_CAUSE = "inner: Http("
"""What comes before the cause of a failed request in obstore's messages; before it is the address."""
_BAD_GATEWAY = 502
_WHOLE = "non-partial response"
_UNSETTLED = re.compile(
    "DeleteObjects request failed for key|invalid DeleteObjects response|Server returned error response"
)
"""What obstore says of an answer of 200 to a bulk request that has failed objects, or that it cannot read."""
_PANIC = "PanicException"
"""obstore raises this, which is no `Exception`, if an answer has an error of a key that was not sent."""
_EMPTY = re.compile(r'CONTENT_RANGE header: "bytes [^"]{0,32}/0"')
"""What obstore says of a range of an empty object, whose answer it cannot read."""
_IN_BATCH = re.compile(r"Bulk delete request failed for key .*\(code: (\d{3})\)(?:\n|$)")
"""One answer of several to one request, which only Azure gives: its status, and no error code."""


@dataclass(frozen=True, slots=True)
class StoreAnswer:
    """Status of a failed request: HTTP status and the store's error code; both None if there was no response.

    The rest of the response is not kept: it may be another service's, which the Catalog's author may not
    read.
    """

    status: int | None
    code: str | None
    is_in_batch: bool = False

    @classmethod
    def of(cls, error: Exception) -> StoreAnswer:
        """Extracts status and code from an obstore error."""
        text = str(error)
        status, code, part = _STATUS.search(text), _CODE.search(text), _IN_BATCH.search(text)
        if status is None and part is not None:
            return cls(int(part[1]), None, is_in_batch=True)
        return cls(int(status[1]) if status else None, code and code[1])

    def is_passing(self, dialect: Dialect) -> bool:
        """Whether the store has a problem of its own, which may pass."""
        status = self.status or 0
        return self.code in dialect.passing or (status >= 500 and status != 501) or status in (408, 429)

    @property
    def text(self) -> str:
        """Message for people."""
        return " ".join(part for part in (str(self.status or ""), self.code or "") if part)


class OutOfRange(Exception):
    """A range lies outside the object; an empty object has no valid range."""


class NotInBulk(Exception):
    """A store's answer to a bulk request does not say that all objects were deleted.

    Attributes:
        is_refusal: whether the store refused the request, so that nothing was deleted.
    """

    def __init__(self, *, is_refusal: bool) -> None:
        super().__init__()
        self.is_refusal = is_refusal


class Taken(Exception):
    """A conditional write was refused because the name is taken or another write of it is in progress."""


def _no_gate() -> str | None:
    return None


@contextmanager
def answering(
    path: str,
    dialect: Dialect,
    gate_failure: Callable[[], str | None] = _no_gate,
    *,
    creates: bool = False,
    remark: str = "",
) -> Iterator[None]:
    """Turns obstore's exceptions into our errors.

    Args:
        path: what was asked for.
        dialect: what the store's answers mean.
        gate_failure: why a proxy of our own, if there is one, could not connect; None if it could.
        creates: whether the request is to be refused if the object exists.
        remark: what to say of credentials that are missing or not accepted.

    Raises:
        FileNotFoundError: the store says that the object does not exist.
        Taken, OutOfRange: as documented on the classes.
        NotAllowed: the store rejects the credentials, or they lack permission; nothing was done.
        StorageUnavailable: there was no response, or none from the store; it may have been carried out.
        StorageError: the store refuses the request; nothing was done.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise _missing(path, dialect, StoreAnswer.of(error)) from None
    except (BaseError, OSError) as error:
        if creates and isinstance(error, AlreadyExistsError | PreconditionError):
            raise Taken(StoreAnswer.of(error).text) from None
        # Their messages can be pages long and quote headers.
        raise _translated(path, dialect, error, gate_failure(), remark) from None


@contextmanager
def answering_in_bulk(dialect: Dialect) -> Iterator[None]:
    """Around a bulk deletion, within `answering`, which gets the failures that single requests would share.

    Raises:
        NotInBulk: the objects must be deleted by requests of their own.
    """
    try:
        yield
    except (BaseError, OSError) as error:
        answer = StoreAnswer.of(error)
        is_refusal = answer.status is not None and not answer.is_passing(dialect)
        if not is_refusal and (answer.status is not None or not _UNSETTLED.search(str(error))):
            raise
        raise NotInBulk(is_refusal=is_refusal) from None
    except BaseException as error:
        if type(error).__name__ != _PANIC:
            raise
        raise NotInBulk(is_refusal=False) from None


def _missing(path: str, dialect: Dialect, answer: StoreAnswer) -> Exception:
    if answer.code in dialect.missing or answer.is_in_batch:
        return FileNotFoundError(path)
    if answer.code in dialect.no_bucket:
        return StorageError(path, NO_BUCKET)
    said = answer.text or "404"
    problem = f"what answers there ({said}) seems to be no {dialect.name}: look at {dialect.endpoint}"
    return StorageUnavailable(path, problem)


def _translated(
    path: str, dialect: Dialect, error: Exception, gate_failure: str | None, remark: str
) -> Exception:
    answer = StoreAnswer.of(error)
    if gate_failure is not None and answer.status in (None, _BAD_GATEWAY):
        return StorageUnavailable(path, f"{dialect.name} does not answer ({gate_failure})")
    if isinstance(error, UnauthenticatedError) and answer.status is None:
        return StorageUnavailable(path, f"no credentials can be had now{remark}")
    if answer.status is None and (_WHOLE in str(error) or _EMPTY.search(str(error))):
        return OutOfRange(path)  # the response for a suffix range of an empty object
    if answer.status is None:
        return StorageUnavailable(path, f"{dialect.name} does not answer ({_shortly(dialect, error)})")
    if answer.status == 404:
        return _missing(path, dialect, answer)
    if answer.status == 416:
        return OutOfRange(path)
    if answer.is_passing(dialect):
        return StorageUnavailable(path, f"{dialect.name} fails ({answer.text})")
    is_forbidden = isinstance(error, PermissionDeniedError | UnauthenticatedError)
    if is_forbidden or answer.code in dialect.rejected or answer.status in (401, 403):
        return NotAllowed(path, f"{dialect.name} does not allow it ({answer.text}){remark}")
    return StorageError(path, f"{dialect.name} refuses the request ({answer.text})")


def _shortly(dialect: Dialect, error: Exception) -> str:
    """The client's message about a connection, shortened; empty if it may quote a response."""
    if isinstance(error, OSError):
        return words_of(error) or type(error).__name__
    text = str(error)
    words = network_words(text.partition(_CAUSE)[2])
    if words is not None:
        return words
    found = _CONNECTION.search(text)
    return found[0] if found else f"its answer is none of {dialect.name}"
