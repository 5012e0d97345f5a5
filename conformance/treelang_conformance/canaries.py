"""Strings that a sound transport passes on to the provider and to nobody else (clauses SEC-1 to SEC-3).

They stand in every default request, so that any check can ask whether one of them came to light.
"""

from __future__ import annotations

API_KEY = "sk-conformance-canary-5b1f0c7e9a"
SYSTEM_TEXT = "canary-system-text-42d8"
USER_TEXT = "canary-user-text-93ab"
SCHEMA_TEXT = "canary_schema_property_1e6f"

ALL = {
    "the API key": API_KEY,
    "the system text": SYSTEM_TEXT,
    "the user text": USER_TEXT,
    "the schema": SCHEMA_TEXT,
}
"""Each canary by what it stands for."""
