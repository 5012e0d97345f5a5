"""What was worked out for an object, kept as long as the object lives."""

from __future__ import annotations

import weakref
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class IdentityCache(Generic[K, V]):
    """A weak mapping by identity: nodes have no quick hash, and equal ones need not be one."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[K], V]] = {}

    def get(self, key: K) -> V | None:
        """What is kept for this very object."""
        entry = self._entries.get(id(key))
        return entry[1] if entry is not None and entry[0]() is key else None

    def set(self, key: K, value: V) -> None:
        """Keep a value until the object is gone."""
        identity, entries = id(key), self._entries
        entries[identity] = (weakref.ref(key, lambda _: entries.pop(identity, None)), value)
