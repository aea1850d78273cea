"""Maps the answers of name nodes and data nodes to our errors.

Used by `client` around every request. The client tells what a name node answered by the name of a Java class;
nothing else of an answer is repeated. Whatever is no such answer leaves open whether the request was carried
out.
"""

from __future__ import annotations

import re

from lithify.errors import LithifyError, NotAllowed, StorageError, StorageUnavailable
from lithify.io.hdfs.kerberos import AUTHENTICATION
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
_SECURED = "SIMPLE authentication is not enabled"
_LOGIN = re.compile(
    r"(?P<kind>GSSAPIError|SASLError|NoSASLMechanism)(\(GssMajorCodes \{[^}]*\}, (?P<code>[0-9]{1,10}),)?"
)
_NO_LIBRARY = "Failed to load libgssapi_krb"
_FIRST_CODE = 0x96C73A00
"""Kerberos's library counts its errors from here."""
_SILENT = 156
"""The code of a key distribution centre that does not answer."""
_REASONS = {
    6: "Kerberos does not know the principal",
    7: "Kerberos does not know the name node's principal",
    18: "Kerberos has locked the principal",
    23: "the principal's key has expired",
    **dict.fromkeys((24, 31, 181), "the keytab's key is not the principal's"),
    32: "the ticket has expired",
    37: "the clocks differ",
    **dict.fromkeys((141, 195), "there is neither a keytab with the principal's key nor a ticket"),
    154: "Kerberos has no configuration of the realm",
}


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
    if re.search(_SECURED, text):
        return NotAllowed(path, f"this HDFS asks for Kerberos: {AUTHENTICATION} is not kerberos")
    found = _ANSWER.match(text)
    if found is not None:
        return _answered(path, user, found["name"], is_fatal=found["fatal"] is not None)
    found = _LOGIN.match(text)
    if found is not None:
        return _not_logged_in(path, user, found["code"] or found["kind"])
    if _NO_LIBRARY in text:
        return StorageError(path, "Kerberos's library (libgssapi_krb5.so.2) is missing here")
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


def _not_logged_in(path: str, user: str, found: str) -> LithifyError:
    """Nothing was asked: a login comes before any request."""
    code = int(found) - _FIRST_CODE if found.isdecimal() else 0
    if code == _SILENT:
        return StorageUnavailable(path, "no key distribution centre of Kerberos answers")
    reason = _REASONS.get(code, f"Kerberos fails ({found})")
    return NotAllowed(path, f"HDFS does not let the user {user} in: {reason}")


def _shortly(error: BaseException) -> str:
    """The cause in the network's words; of other messages the client's own kind of error only."""
    if isinstance(error, TimeoutError):
        return TIMED_OUT
    words = words_of(error) or network_words(str(error))
    return words or re.split(r"\W", str(error), maxsplit=1)[0][:64] or type(error).__name__
