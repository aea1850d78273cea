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
_SECURED = "SASLError|GSSAPIError|NoSASLMechanism|SIMPLE authentication is not enabled"


def translated(path: str, user: str, error: BaseException) -> LithifyError | OSError:
    """Our error for one of the client's.

    Args:
        path: what was asked for.
        user: whom the request named.
        error: the client's error.

    Returns:
        FileNotFoundError or FileExistsError: a name node says so.
        NotAllowed: it refuses the user, or lets nobody in without Kerberos.
        StorageUnavailable: there was no answer, or one that may change; it may have been carried out.
        StorageError: it refuses the request; nothing was done.
    """
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(path)
    if isinstance(error, FileExistsError):
        return FileExistsError(path)
    text = str(error)
    if re.search(_SECURED, text):
        return NotAllowed(path, "this HDFS asks for Kerberos, which this release does not have")
    found = _ANSWER.match(text)
    if found is not None:
        return _answered(path, user, found["name"], is_fatal=found["fatal"] is not None)
    if isinstance(error, IsADirectoryError):
        return StorageError(path, "it is a directory")
    if _ENCRYPTED in text.lower():
        return StorageError(path, "it lies in an encryption zone of HDFS, which this release does not read")
    return StorageUnavailable(path, f"HDFS does not answer ({_shortly(error)})")


def _answered(path: str, user: str, name: str, *, is_fatal: bool) -> LithifyError:
    if name in _FORBIDDEN:
        return NotAllowed(path, f"HDFS does not allow it to the user {user} ({name})")
    if is_fatal or name in _PASSING:
        return StorageUnavailable(path, f"HDFS fails ({name})")
    if name in ("NSQuotaExceededException", "DSQuotaExceededException", "QuotaExceededException"):
        return StorageError(path, f"the quota of HDFS is used up ({name})")
    return StorageError(path, f"HDFS refuses the request ({name})")


def _shortly(error: BaseException) -> str:
    """The cause in the network's words; of other messages the client's own kind of error only."""
    if isinstance(error, TimeoutError):
        return TIMED_OUT
    words = words_of(error) or network_words(str(error))
    return words or re.split(r"\W", str(error), maxsplit=1)[0][:64] or type(error).__name__
