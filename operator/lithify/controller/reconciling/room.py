"""Who may start: the limits of policies, namespaces and of this operator, asked of what is in the store.

Called by the reconcilers of tables and Compactions. Whoever is told to wait is remembered with the time since
when, so that it gets older and its turn comes; who is next is `deciding.admission`'s to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from lithify.controller.deciding.admission import Active, Admission, Caps, Waiting, admit
from lithify.controller.deciding.situation import Due
from lithify.controller.reconciling.store import Store
from lithify.resources.compaction import Compaction, Reason
from lithify.resources.names import COMPACTION, LABEL_TABLE, LAKE_TABLE, Kind, ObjectKey
from lithify.resources.policy import CompactionPolicySpec
from lithify.resources.table import LakeTable
