"""Rows with which the adapters disagree for a reason. README.md shows this table."""

from __future__ import annotations

KNOWN_DISAGREEMENTS: dict[str, str] = {
    "oc-7f971ad50770": "the stream ends with `[DONE]` and gives no finish reason: no natural stop (STR-6)",
    "oc-e94a6ed53b53": "the stream ends with `[DONE]` and gives no finish reason: no natural stop (STR-6)",
}
