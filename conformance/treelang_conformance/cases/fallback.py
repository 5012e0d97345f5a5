"""What a check of the fallback is given: a transport's surroundings, and the reference arborist above it."""

from __future__ import annotations

from treelang_conformance.cases.transport import Case


class FallbackCase(Case):
    """The surroundings of one check of a transport under the reference arborist."""
