"""The names that Lithify's objects have in Kubernetes: group, kinds, labels, annotations.

Used by all modules that access an API server. These names are an interface: users select by them.
"""

from __future__ import annotations

from dataclasses import dataclass

GROUP = "lithify.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
CATEGORY = "lakehouse"

LABEL_TABLE = f"{GROUP}/table"
"""On a Compaction that the operator creates, and on drivers: the name of the LakeTable. People select by it;
nothing is decided by it, since every author of a Compaction may write it (see `AutomaticRun`)."""
LABEL_COMPACTION = f"{GROUP}/compaction"
"""On a driver pod: the name of the Compaction."""
LABEL_ATTEMPT = f"{GROUP}/attempt"
"""On a driver pod: the number of the Compaction's attempt, from 1."""
LABEL_CATALOG = f"{GROUP}/catalog"
"""On a LakeTable that discovery created: the name of the Catalog."""
ANNOTATION_DISCOVERED = f"{GROUP}/discovered-with-policy"
"""On a LakeTable that discovery created: the policy that it set. While the spec is unchanged, the LakeTable
may be pruned."""
LABEL_LOCK = f"{GROUP}/table-lock"
"""On the Lease that locks a table."""
ANNOTATION_REQUESTED = f"{GROUP}/requested-at"
"""On a LakeTable: any new value requests a compaction now; status repeats it as `handledRequest`."""
ANNOTATION_STRATEGY = f"{GROUP}/requested-strategy"
"""On a LakeTable: Minor or Full, the compaction that `requested-at` requests; Minor without it."""
ANNOTATION_COMMITTED = f"{GROUP}/committed-snapshot"
"""On a LakeTable: the id of a snapshot that a writer has committed, so that the table is observed at once."""
ANNOTATION_PROGRESS = f"{GROUP}/progress"
"""On a driver pod: its progress, as JSON."""
LABEL_SHARED = f"{GROUP}/shared-run"
"""On a driver pod that several Compactions share: the name of the first of them."""
ANNOTATION_MEMBERS = f"{GROUP}/shared-by"
"""On the pod of a shared driver: names and uids of its Compactions, as JSON, in order of execution."""
OUTCOME_PREFIX = f"{GROUP}/outcome-"
"""Prefix of annotations of a shared driver's pod, one for each Compaction that has ended: its outcome."""
STOP_PREFIX = f"{GROUP}/stop-"
"""Prefix of annotations of a shared driver's pod, one for each Compaction that was asked to stop."""
FINALIZER_DRIVER = f"{GROUP}/result-recorded"
"""On a driver pod: keeps it until its result is in the Compaction's status."""


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """A kind of objects: its name, and the name of its collection in requests."""

    name: str
    plural: str
    group: str = GROUP
    version: str = VERSION

    @property
    def api_version(self) -> str:
        """The `apiVersion` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version


CATALOG = ResourceKind("Catalog", "catalogs")
LAKE_TABLE = ResourceKind("LakeTable", "laketables")
POLICY = ResourceKind("CompactionPolicy", "compactionpolicies")
COMPACTION = ResourceKind("Compaction", "compactions")
OWN_KINDS = (CATALOG, LAKE_TABLE, POLICY, COMPACTION)

POD = ResourceKind("Pod", "pods", group="", version="v1")
SECRET = ResourceKind("Secret", "secrets", group="", version="v1")
SERVICE_ACCOUNT = ResourceKind("ServiceAccount", "serviceaccounts", group="", version="v1")
EVENT = ResourceKind("Event", "events", group="", version="v1")
LEASE = ResourceKind("Lease", "leases", group="coordination.k8s.io", version="v1")
NETWORK_POLICY = ResourceKind("NetworkPolicy", "networkpolicies", group="networking.k8s.io", version="v1")
DEPLOYMENT = ResourceKind("Deployment", "deployments", group="apps", version="v1")


@dataclass(frozen=True, slots=True, order=True)
class ObjectKey:
    """Identifies an object of a kind."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"
