"""Who writes to the API server: the operator counts, the API server counts, and the objects show it.

Renewing the Lease by which the operator leads is left out everywhere; it says that somebody is there.
"""

from __future__ import annotations

from dataclasses import dataclass

from infrastructure.cluster.kubectl import Kubectl
from lithify.controller.api import Api
from lithify.resources.names import EVENT, GROUP, LEASE, OWN_KINDS
from many_tables.process import Metrics, OperatorProcess

_LEADER = "lithify-operator"
_REQUESTS = "apiserver_request_total"
_VERBS = ("POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION")


@dataclass(frozen=True, slots=True)
class Written:
    """What was written until now.

    Attributes:
        told: writes that the operator has counted.
        served: writes of our kinds that the API server has counted, whoever sent them; None if not asked.
        versions: of every object by its uid: its resourceVersion.
    """

    told: float
    served: float | None
    versions: dict[str, str]

    def since(self, earlier: Written, *, by_another: bool = False) -> Writes:
        """What was written between two moments; another process has counted from nothing."""
        changed = self.versions.items() ^ earlier.versions.items()
        served = None if self.served is None or earlier.served is None else self.served - earlier.served
        told = self.told - (0 if by_another else earlier.told)
        return Writes(round(told), _rounded(served), len({uid for uid, _ in changed}))


@dataclass(frozen=True, slots=True)
class Writes:
    """What was written in some time.

    Attributes:
        told: writes that the operator has counted.
        served: writes of our kinds that the API server has counted.
        changed: objects that were created, changed or deleted.
    """

    told: int
    served: int | None
    changed: int


async def written(
    operator: OperatorProcess, api: Api, namespace: str, kubectl: Kubectl | None = None
) -> Written:
    """Counts; the API server is only asked where nobody but the operator and the benchmark use it."""
    versions = {}
    for kind in (*OWN_KINDS, EVENT, LEASE):
        for item in await api.list(kind, namespace):
            meta = item["metadata"]
            if (kind, meta["name"]) != (LEASE, _LEADER):
                versions[meta["uid"]] = meta["resourceVersion"]
    found = operator.metrics()
    assert found is not None
    told = found.total("lithify_api_writes_total") - found.total("lithify_api_writes_total", kind=LEASE.name)
    return Written(told, None if kubectl is None else _served(kubectl), versions)


def _served(kubectl: Kubectl) -> float:
    lines = [line for line in kubectl("get", "--raw", "/metrics").splitlines() if _REQUESTS in line]
    found = Metrics("\n".join(lines) + "\n")
    ours = sum(found.total(_REQUESTS, verb=verb, group=GROUP) for verb in _VERBS)
    return ours + sum(found.total(_REQUESTS, verb=verb, resource="events") for verb in _VERBS)


def _rounded(value: float | None) -> int | None:
    return None if value is None else round(value)
