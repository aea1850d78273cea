"""How a process logs in to HDFS with Kerberos: options under the names of Hadoop and Paimon. Pure.

Read by `settings`; `client` gives it to hdfs-native, which logs in whenever it connects. So every process
does it by itself. The rest is in variables of Kerberos's library: KRB5_CONFIG, and without a keytab here
KRB5_CLIENT_KTNAME or KRB5CCNAME.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lithify.errors import InvalidOption
from lithify.io.objects.settings import first, read_boolean
from lithify.settings import catalog_option

AUTHENTICATION = "hadoop.security.authentication"
PRINCIPAL = "security.kerberos.login.principal"
KEYTAB = "security.kerberos.login.keytab"
TICKET_CACHE = "security.kerberos.login.use-ticket-cache"

_PRINCIPALS = (PRINCIPAL, "security.principal")
_KEYTABS = (KEYTAB, "security.keytab")
OPTION_NAMES = (*_PRINCIPALS, *_KEYTABS, TICKET_CACHE)

_PRINCIPAL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@/-]{0,255}")
_KEYTAB = re.compile(r"/[^\x00]{0,4095}")


@dataclass(frozen=True, slots=True)
class Login:
    """Who logs in, and with what.

    Attributes:
        principal: None for the principal of the process's own keytab or ticket cache.
        keytab: a file of drivers and executors, with the principal's key.
    """

    principal: str | None = None
    keytab: str | None = None

    @property
    def shown(self) -> str:
        """Who it is, for messages."""
        return self.principal or "of this process"

    @property
    def cache(self) -> str | None:
        """Where tickets for its keytab are: in memory. None for the process's own place."""
        return None if self.keytab is None else f"MEMORY:{self.principal}:{self.keytab}"


OWN_LOGIN = Login()
"""With what the process's environment says."""


def read_login(options: Mapping[str, str], authentication: str | None) -> Login | None:
    """Who logs in; None without Kerberos.

    Args:
        options: of the catalog.
        authentication: what they say of Hadoop's authentication.

    Raises:
        InvalidOption: an option is invalid, or says nothing without another one.
    """
    method = (authentication or "simple").strip().lower()
    if method not in ("simple", "kerberos"):
        raise InvalidOption(catalog_option(AUTHENTICATION), f"'{method}' is neither simple nor kerberos")
    principal, keytab = first(options, _PRINCIPALS), first(options, _KEYTABS)
    if method == "simple":
        _refuse_without(principal, keytab)
        return None
    if (principal is None) != (keytab is None):
        missing = PRINCIPAL if principal is None else KEYTAB
        raise InvalidOption(catalog_option(missing), "it is missing: a principal and a keytab go together")
    if keytab is None and not read_boolean(TICKET_CACHE, options.get(TICKET_CACHE) or "true"):
        raise InvalidOption(catalog_option(TICKET_CACHE), "without a ticket cache, a keytab is needed")
    _check(PRINCIPAL, principal, _PRINCIPAL, "it is no name of a principal")
    _check(KEYTAB, keytab, _KEYTAB, "it is no absolute path")
    return Login(principal, keytab)


def _refuse_without(principal: str | None, keytab: str | None) -> None:
    for name, value in ((PRINCIPAL, principal), (KEYTAB, keytab)):
        if value is not None:
            raise InvalidOption(catalog_option(name), f"it needs {AUTHENTICATION}: kerberos")


def _check(name: str, value: str | None, form: re.Pattern[str], problem: str) -> None:
    if value is not None and not form.fullmatch(value):
        raise InvalidOption(catalog_option(name), problem)
