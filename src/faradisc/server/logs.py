"""The server's log on standard error: a line of text or a JSON object for each event."""

from __future__ import annotations

import json
import logging
import time

TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def configure_logs(level: str, layout: str) -> None:
    """Writes what is at least as severe as a level to standard error. layout: text or json."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if layout == "json" else logging.Formatter(TEXT))
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)


class JsonLines(logging.Formatter):
    """One object for each event: time, level, logger, message, and the members of its `fields`, if any."""

    def format(self, record: logging.LogRecord) -> str:
        event = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            event["error"] = self.formatException(record.exc_info)
        return json.dumps(event)
