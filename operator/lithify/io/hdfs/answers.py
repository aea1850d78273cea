"""Maps the answers of name nodes and data nodes to our errors.

Used by `client` around every request. The client tells what a name node answered by the name of a Java class;
nothing else of an answer is repeated. Whatever is no such answer leaves open whether the request was carried
out.
"""

from __future__ import annotations

import re

from lithify.errors import LithifyError, NotAllowed, StorageError, StorageUnavailable
from lithify.io.network_words import TIMED_OUT, network_words, words_of

_ANSWER = re.compile(r'(?P<fatal>Fatal)?RPCError\("(?:[\w.]*\.)?(?P<name>[A-Za-z0-9_$]{1,128})"')
_FORBIDDEN = frozenset({"AccessControlException", "AuthorizationException", "SaslException", "InvalidToken"})
_PASSING = frozenset(
    {
        *("SafeModeException", "StandbyException", "RetriableException", "ObserverRetryOnActiveException"),
        *("NotReplicatedYetException", "RetryStartFileException", "ServerTooBusyException"),
    }
)
"""What name nodes answer that have done nothing, and may do it later."""
_ENCRYPTED = "encryption"
_CLOSED = "RPC listener disconnected"
_LOGIN = re.compile(r"GSSAPIError|SASLError|NoSASLMechanism")
_NO_LIBRARY = "Failed to load libgssapi_krb"
_SILENT = "Cannot contact any KDC"
_REASONS = {
    r"Client '.*' not found in Kerberos database": "Kerberos does not know the principal",
    r"not found in Kerberos database": "Kerberos does not know the name node",
    r"No key table entry|Preauthentication failed|integrity check failed": "the keytab has another key",
    r"No credentials cache found|No Kerberos credentials": "there is no key of the principal, nor a ticket",
    r"expired": "the ticket or the key has expired",
    r"Clock skew": "the clocks differ",
    r"Cannot find KDC|default realm": "Kerberos has no configuration of the realm",
    r"revoked": "Kerberos has locked the principal",
}
"""What Kerberos's library says, and we. It gives some errors other numbers, so that these say nothing."""


def translated(path: str, user: str, error: BaseException) -> LithifyError | OSError:
    """Our error for one of the client's.

    Args:
        path: what was asked for.
        user: whom the request named.
        error: the client's error.

    Returns:
        FileNotFoundError or FileExistsError: a name node says so.
        NotAllowed: it refuses the user, or Kerberos does, or a name node lets nobody in without Kerberos.
        StorageUnavailable: there was no answer, or one that may change; it may have been carried out.
        StorageError: it refuses the request; nothing was done.
    """
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(path)
    if isinstance(error, FileExistsError):
        return FileExistsError(path)
    text = str(error)
    found = _ANSWER.match(text)
    if found is not None:
        return _answered(path, user, found["name"], is_fatal=found["fatal"] is not None)
    if _LOGIN.match(text):
        return _not_logged_in(path, user, text)
    if _NO_LIBRARY in text:
        return StorageError(path, "Kerberos's library (libgssapi_krb5.so.2) is missing here")
    if isinstance(error, IsADirectoryError):
        return StorageError(path, "it is a directory")
    if _ENCRYPTED in text.lower():
        return StorageError(path, "it lies in an encryption zone of HDFS, which this release does not read")
    if _CLOSED in text:
        return StorageUnavailable(
            path, "HDFS closes the connection, as it also does if only it asks for Kerberos"
        )
    return StorageUnavailable(path, f"HDFS does not answer ({_shortly(error)})")


def _answered(path: str, user: str, name: str, *, is_fatal: bool) -> LithifyError:
    if name in _FORBIDDEN:
        return NotAllowed(path, f"HDFS does not allow it to the user {user} ({name})")
    if is_fatal or name in _PASSING:
        return StorageUnavailable(path, f"HDFS fails ({name})")
    if name in ("NSQuotaExceededException", "DSQuotaExceededException", "QuotaExceededException"):
        return StorageError(path, f"the quota of HDFS is used up ({name})")
    return StorageError(path, f"HDFS refuses the request ({name})")


def _not_logged_in(path: str, user: str, text: str) -> LithifyError:
    """Nothing was asked: a login comes before any request."""
    if _SILENT in text:
        return StorageUnavailable(path, "no key distribution centre of Kerberos answers")
    known = (reason for words, reason in _REASONS.items() if re.search(words, text))
    reason = next(known, f"Kerberos fails ({_first_word(text)})")
    return NotAllowed(path, f"HDFS does not let the user {user} in: {reason}")


def _shortly(error: BaseException) -> str:
    """The cause in the network's words; of other messages the client's own kind of error only."""
    if isinstance(error, TimeoutError):
        return TIMED_OUT
    words = words_of(error) or network_words(str(error))
    return words or _first_word(str(error)) or type(error).__name__


def _first_word(text: str) -> str:
    return re.split(r"\W", text, maxsplit=1)[0][:64]
