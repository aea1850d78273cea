"""Maps S3's responses to our errors.

Used by `bucket` around every request. An object counts as missing only if S3 says so with its own error code:
a bare 404 may come from a proxy, an ingress or another service, and trusting it would make existing tables
disappear.
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
    UnauthenticatedError,
)

from lithify.errors import NotAllowed, StorageError, StorageUnavailable
from lithify.io.network_words import network_words, words_of

NO_BUCKET = "the bucket does not exist"
"""Text of the `StorageError` for a missing bucket."""

_STATUS = re.compile(r"non-2xx status code: (\d{3})")
_CODE = re.compile(r"<Code>([A-Za-z0-9]{1,64})</Code>")
_CONNECTION = re.compile(r"HTTP error: (error sending request|request or response body error)")
_CAUSE = "inner: Http("
"""What comes before the cause of a failed request in obstore's messages; before it is the address."""
_BAD_GATEWAY = 502
_WHOLE = "non-partial response"
_CREDENTIALS = frozenset({"InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken"})
_PASSING = frozenset({"RequestTimeout", "RequestTimeTooSkewed", "SlowDown", "ThrottlingException"})


@dataclass(frozen=True, slots=True)
class StoreAnswer:
    """Status of a failed request: HTTP status and S3's error code; both None if there was no response.

    The rest of the response is not kept: it may be another service's, which the Catalog's author may not
    read.
    """

    status: int | None
    code: str | None

    @classmethod
    def of(cls, error: Exception) -> StoreAnswer:
        """Extracts status and code from an obstore error."""
        text = str(error)
        status, code = _STATUS.search(text), _CODE.search(text)
        return cls(int(status[1]) if status else None, code and code[1])

    @property
    def text(self) -> str:
        """Message for people."""
        return " ".join(part for part in (str(self.status or ""), self.code or "") if part)


class OutOfRange(Exception):
    """A range lies outside the object; an empty object has no valid range."""


class Taken(Exception):
    """A conditional write was refused because the name is taken or another write of it is in progress."""


def _no_gate() -> str | None:
    return None


@contextmanager
def answering(path: str, gate_failure: Callable[[], str | None] = _no_gate) -> Iterator[None]:
    """Turns obstore's exceptions into our errors.

    Args:
        path: what was asked for.
        gate_failure: why a proxy of our own, if there is one, could not connect; None if it could.

    Raises:
        FileNotFoundError: S3 says that the object does not exist.
        Taken, OutOfRange: as documented on the classes.
        NotAllowed: S3 rejects the credentials, or they lack permission; nothing was done.
        StorageUnavailable: there was no response, or none from S3; the request may have been carried out.
        StorageError: S3 refuses the request; nothing was done.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise _missing(path, StoreAnswer.of(error)) from None
    except AlreadyExistsError as error:
        raise Taken(StoreAnswer.of(error).text) from None
    except (BaseError, OSError) as error:
        # Their messages can be pages long and quote headers.
        raise _translated(path, error, gate_failure()) from None


def _missing(path: str, answer: StoreAnswer) -> Exception:
    if answer.code == "NoSuchKey":
        return FileNotFoundError(path)
    if answer.code == "NoSuchBucket":
        return StorageError(path, NO_BUCKET)
    said = answer.text or "404"
    return StorageUnavailable(path, f"what answers there ({said}) seems to be no S3: look at s3.endpoint")


def _translated(path: str, error: Exception, gate_failure: str | None) -> Exception:
    answer = StoreAnswer.of(error)
    if gate_failure is not None and answer.status in (None, _BAD_GATEWAY):
        return StorageUnavailable(path, f"S3 does not answer ({gate_failure})")
    if isinstance(error, UnauthenticatedError) and answer.status is None:
        return StorageUnavailable(path, "no credentials can be had now")
    if answer.status is None and _WHOLE in str(error):
        return OutOfRange(path)  # S3's response for a suffix range of an empty object
    if answer.status is None:
        return StorageUnavailable(path, f"S3 does not answer ({_shortly(error)})")
    if answer.status == 404:
        return _missing(path, answer)
    if answer.status == 416:
        return OutOfRange(path)
    is_failure = answer.status >= 500 and answer.status != 501
    if answer.code in _PASSING or is_failure or answer.status in (408, 429):
        return StorageUnavailable(path, f"S3 fails ({answer.text})")
    is_forbidden = isinstance(error, PermissionDeniedError | UnauthenticatedError)
    if is_forbidden or answer.code in _CREDENTIALS or answer.status in (401, 403):
        return NotAllowed(path, f"S3 does not allow it ({answer.text})")
    return StorageError(path, f"S3 refuses the request ({answer.text})")


def _shortly(error: Exception) -> str:
    """The client's message about a connection, shortened; empty if it may quote a response."""
    if isinstance(error, OSError):
        return words_of(error) or type(error).__name__
    text = str(error)
    words = network_words(text.partition(_CAUSE)[2])
    if words is not None:
        return words
    found = _CONNECTION.search(text)
    return found[0] if found else "its answer is none of S3's"
