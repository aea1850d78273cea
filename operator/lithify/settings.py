"""What messages call a setting: a flag where a command is read, a field where the status of an object is.

Errors carry the setting itself (`errors.LithifyError`), so that whoever shows the message chooses the words
that its readers know: commands the flag, which is the default; operator and drivers the field (`in_fields`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting by its two names.

    Attributes:
        flag: on the command line.
        field: in an object, with the object's kind where messages about others name it, too.
    """

    flag: str
    field: str

    def __str__(self) -> str:
        return self.flag


def _of_policy(flag: str, path: str) -> Setting:
    return Setting(flag, f"{path} of the CompactionPolicy")


def _of_operator(flag: str, path: str) -> Setting:
    """A flag of the operator, which readers of objects know by the chart that installs it, if at all."""
    return Setting(flag, f"{path} in the values of the operator's chart")


WAREHOUSE = Setting("--warehouse", "spec.warehouse of the Catalog")
CATALOG_SETTINGS = Setting("--catalog-option", "spec.options of the Catalog")
CREDENTIALS = Setting("the --catalog-option settings", "those that spec.secretRef of the Catalog names")
METASTORE = Setting("metastore", "spec.metastore of the Catalog")
URI = Setting("uri", "spec.uri of the Catalog")
TABLE = Setting("--table", "spec.identifier of the LakeTable")
TIME_ZONE = Setting("--time-zone", "spec.timeZone of the LakeTable")
PARTITIONS = Setting("--partition", "spec.partitions of the Compaction or CompactionPolicy")
RUN = Setting("--run-id", "metadata.uid of the Compaction")
MASTER = Setting("--master", "spec.spark of the CompactionPolicy")
SPARK_OUTPUT = Setting("what -v shows", "the log of the driver's pod")
DRIVER_MEMORY = _of_policy("--spark-conf spark.driver.memory", "spec.spark.driver.memory")
EXECUTOR_MEMORY = _of_policy("--spark-conf spark.executor.memory", "spec.spark.executor.memory")
TASK_MEMORY = _of_policy("--task-memory", "spec.spark.taskMemory")

ALLOWED_ADDRESSES = _of_operator("--allow-address", "operator.allowedAddresses")
OWN_IDENTITY = _of_operator("--own-identity", "operator.ownIdentity")
HOST_ACCESS = _of_operator("--allow-host-access", "operator.allowHostAccess")
LOOKS = _of_operator("--looks", "operator.looks")
LONGEST_LOOK = _of_operator("--max-timeout-seconds", "operator.maxTimeoutSeconds")
MOST_TABLES = _of_operator("--max-discovered-tables", "operator.maxDiscoveredTables")


def catalog_option(name: str) -> Setting:
    """One of a catalog's options."""
    return _SPECIAL.get(name) or Setting(name, f'spec.options["{name}"] of the Catalog')


def table_option(name: str) -> Setting:
    """A table option that is given for runs."""
    return Setting(f"--option {name}", f'spec.tableOptions["{name}"] of the LakeTable')


_SPECIAL = {"metastore": METASTORE, "uri": URI, "warehouse": Setting("warehouse", WAREHOUSE.field)}
"""What is an option to Paimon and a field of its own to us."""
