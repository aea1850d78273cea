"""Unit tests start in a moment: what some libraries do for seconds when they are imported is left out."""

from __future__ import annotations

import sys

# Where it is installed, for bills of materials, jsonschema compiles grammars of IRIs on import.
# None of the schemas here has IRIs.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
import jsonschema  # noqa: E402, F401 - now, without it

if sys.modules["rfc3987_syntax"] is None:
    del sys.modules["rfc3987_syntax"]
