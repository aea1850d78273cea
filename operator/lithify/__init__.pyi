from lithify.library import (
    Commits as Commits,
)
from lithify.library import (
    InlineRunner as InlineRunner,
)
from lithify.library import (
    MaintenanceKind as MaintenanceKind,
)
from lithify.library import (
    MaintenanceReport as MaintenanceReport,
)
from lithify.library import (
    MaintenanceSettings as MaintenanceSettings,
)
from lithify.library import (
    Plan as Plan,
)
from lithify.library import (
    Report as Report,
)
from lithify.library import (
    Selection as Selection,
)
from lithify.library import (
    Sizing as Sizing,
)
from lithify.library import (
    SparkSettings as SparkSettings,
)
from lithify.library import (
    Strategy as Strategy,
)
from lithify.library import (
    TableAddress as TableAddress,
)
from lithify.library import (
    TableInspection as TableInspection,
)
from lithify.library import (
    compact as compact,
)
from lithify.library import (
    inspect as inspect,
)
from lithify.library import (
    maintain as maintain,
)
from lithify.library import (
    plan as plan,
)

__version__: str
