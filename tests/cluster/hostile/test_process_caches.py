"""What a worker keeps for its whole life, whichever Catalog it is asked about: a list of all of it.

Workers observe tables of all tenants. A cache of the process with answers of servers or credentials would
hand them from one tenant to another, unless its key tells them apart.
"""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

PLAIN = {
    "lithify.controller.observing.replies._KNOWN": "classes of errors, by name",
    "lithify.controller.observing.replies._adapter": "shapes of replies, by name",
    "lithify.formats.declared.declared": "what adapters declare",
    "lithify.formats.declared.known_blocks": "the same, by name of a block",
    "lithify.resources.modelling._adapter": "shapes of our kinds",
    "lithify.resources.modelling._json_schema": "the same shapes, as JSON schemas",
    "lithify.engine.support.rules._glob": "patterns of this release's rules",
    "lithify.io.objects.gate.gate": "the proxy, whose endpoints are admitted again for each connection",
    "lithify.formats.mixed.text_hashes._powers": "powers of 31, by length",
    "lithify.formats.iceberg.manifests.entry_columns.KNOWN_ENTRY": "fields that Iceberg specifies",
    "lithify.formats.iceberg.manifests.manifest_lists.KNOWN_LIST": "fields of manifest lists",
    "lithify.formats.iceberg.manifests.schemas.KNOWN_ENTRY": "the same fields",
    "lithify.formats.iceberg.manifests.schemas.KNOWN_LIST": "the same fields",
    "lithify.formats.iceberg.manifests.schemas._KNOWN_FILE": "the same fields",
    "lithify.formats.iceberg.manifests.schemas._KNOWN_RECORD": "the same fields",
    "lithify.formats.iceberg.support.rules.load": "what this release supports",
    "lithify.formats.paimon.support.loading.load": "what this release supports",
    "pypaimon.casting.data_type_casts._EXECUTABLE_CAST_CACHE": "pairs of types",
    "pyiceberg.utils.singleton.Singleton._instances": "types without parameters, one object each",
    "pypaimon.common.user_agent.identity": "the name of this program",
    "pypaimon.filesystem.oss_user_agent.identity": "the name of this program, for a store that is refused",
    "urllib3.connectionpool._blocking_errnos": "numbers of errors",
    "urllib3.poolmanager.pool_classes_by_scheme": "classes; sessions and their pools belong to one client",
}
"""Hold nothing of any tenant."""
BY_OWNER = {
    "lithify.formats.paimon.access.data_tokens.DataTokens._TOKEN_CACHE": "by Catalog, options and table",
    "lithify.formats.paimon.access.data_tokens.DataTokens._TOKEN_LOCKS": "the same",
    "lithify.formats.iceberg.catalog.credentials._kept": "by Catalog, options and table",
    "lithify.formats.iceberg.catalog.credentials._locks": "the same",
}
"""Hold what belongs to one Catalog, by a key that no other Catalog has."""
UNUSED = {
    "pypaimon.catalog.rest.rest_token_file_io.RESTTokenFileIO._TOKEN_CACHE": "ours is used instead",
    "pypaimon.catalog.rest.rest_token_file_io.RESTTokenFileIO._TOKEN_LOCKS": "the same",
}

SCRIPT = """
    import re
    import sys
    from collections.abc import MutableMapping, MutableSequence, MutableSet

    import lithify.controller.observing.answering
    import lithify.controller.observing.planning
    from importlib import import_module

    from lithify.formats.adapters import ADAPTERS

    for adapter in ADAPTERS.values():
        import_module(adapter.observes)

    LIBRARIES = {
        *("lithify", "pyiceberg", "pypaimon", "pyarrow", "obstore", "requests", "urllib3", "cachetools"),
        *("fsspec", "s3fs", "boto3", "botocore", "aiohttp", "psycopg", "psycopg2", "pymysql", "mysql"),
    }
    KEEPING = (MutableMapping, MutableSet, MutableSequence)
    TELLING = re.compile("cache|lock|pool|session|token|credential|instance|memo|known|opened|kept", re.I)

    def show(name, value, owner):
        kept = isinstance(value, KEEPING) and TELLING.search(name)
        if kept or hasattr(value, "cache_info"):
            print(f"{owner}.{name}")

    for module in list(sys.modules.values()):
        owner = getattr(module, "__name__", "")
        if owner.partition(".")[0] not in LIBRARIES:
            continue
        for name, value in list(vars(module).items()):
            is_taken_over = not isinstance(value, KEEPING) and getattr(value, "__module__", owner) != owner
            if name.startswith("__") or is_taken_over:
                continue
            show(name, value, owner)
            for inner, entry in list(vars(value).items()) if isinstance(value, type) else ():
                if not inner.startswith("__"):
                    show(inner, getattr(entry, "__func__", entry), f"{owner}.{value.__qualname__}")
"""


def test_what_workers_keep_for_all_catalogs_is_known() -> None:
    command = [sys.executable, "-W", "ignore", "-c", dedent(SCRIPT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == {*PLAIN, *BY_OWNER, *UNUSED}
