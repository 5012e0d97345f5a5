"""Cycles of a graph, found without recursion."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import TypeVar

N = TypeVar("N", bound=Hashable)


def cycles(graph: Mapping[N, Collection[N]]) -> Iterator[list[N]]:
    """The strongly connected components of more than one node, or of one that needs itself (Kosaraju's algorithm).

    Args:
        graph: For each node the nodes that it needs; a node that needs none may be left out.
    """
    needed_by: dict[N, list[N]] = defaultdict(list)
    for node, needs in graph.items():
        for need in needs:
            needed_by[need].append(node)
    finished: list[N] = []
    seen: set[N] = set()
    for node in graph:
        finished += _reached(node, graph, seen)
    seen.clear()
    for node in reversed(finished):
        component = _reached(node, needed_by, seen)
        if len(component) > 1 or (component and node in graph.get(node, ())):
            yield component


def _reached(start: N, graph: Mapping[N, Collection[N]], seen: set[N]) -> list[N]:
    """What can be reached from a node and was not seen before, each node after those that it leads to."""
    order: list[N] = []
    walk: list[tuple[N, Iterator[N]]] = []
    if start not in seen:
        seen.add(start)
        walk.append((start, iter(graph.get(start, ()))))
    while walk:
        node, successors = walk[-1]
        for successor in successors:
            if successor not in seen:
                seen.add(successor)
                walk.append((successor, iter(graph.get(successor, ()))))
                break
        else:
            walk.pop()
            order.append(node)
    return order
