"""A driver's log of an attempt. Used by `attempt`, `shared` and `execution`."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Mapping
from zoneinfo import ZoneInfo

from lithify.clock import SystemClock
from lithify.contract.order import Instructions
from lithify.errors import LithifyError
from lithify.plain_text import json_escaped
from lithify.redaction import NOTHING_KNOWN, Redactor, names_of


class AttemptLog:
    """Structured lines on stderr, each with the run's id; credentials are redacted."""

    def __init__(self, instructions: Instructions, *, verbose: bool) -> None:
        self._fixed = {
            "run": instructions.run,
            "attempt": instructions.attempt,
            "table": instructions.table.name,
        }
        self._clock = SystemClock(ZoneInfo("UTC"))
        self._own = names_of(instructions.table.name)
        self._redactor = NOTHING_KNOWN
        self.verbose = verbose

    def hide(self, secrets: Mapping[str, str]) -> None:
        """Redacts these values from here on."""
        self._redactor = Redactor(secrets.values())

    def clean(self, text: str) -> str:
        """A text without credentials."""
        return self._redactor.redact(text, lambda: self._own)

    def write(self, message: str, **fields: object) -> None:
        """Writes a line."""
        line = {"time": self._clock.now().isoformat(), "message": message, **self._fixed, **fields}
        sys.stderr.write(json_escaped(json.dumps(self._cleaned(line), ensure_ascii=False)) + "\n")

    def _cleaned(self, value: object) -> object:
        """Plain data whose texts hold no credentials."""
        if isinstance(value, str):
            return self.clean(value)
        if isinstance(value, dict):
            return {name: self._cleaned(entry) for name, entry in value.items()}
        return [self._cleaned(entry) for entry in value] if isinstance(value, list) else value

    def failure(self, error: BaseException) -> None:
        """Writes a line about an error, with its traceback unless it is one of Lithify's own errors."""
        fields: dict[str, object] = {"error": type(error).__name__, "problem": str(error)}
        if self.verbose or not isinstance(error, LithifyError):
            fields["traceback"] = "".join(traceback.format_exception(error))
        self.write("failed", **fields)
