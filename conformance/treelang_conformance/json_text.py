"""JSON as providers write it: compact, in UTF-8 and not in ASCII."""

from __future__ import annotations

import json
from typing import Any


def encode_json(value: Any) -> str:
    """JSON text of one line that can be encoded in UTF-8."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair, which a provider sends when it cuts a text in the middle of one, must be escaped.
        return json.dumps(value, separators=(",", ":"))
    return text


def decode_json(data: bytes) -> Any:
    """Read strict JSON; raises `ValueError` for anything else, `NaN` and `Infinity` included."""
    return json.loads(data.decode(), parse_constant=_refuse)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")
