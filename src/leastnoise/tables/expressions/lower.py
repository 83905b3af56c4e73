"""Rewrite calls that no engine computes as simpler calls, so that all engines agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from leastnoise.tables.expressions import dates, logarithms, zones
from leastnoise.tables.expressions.tree import Call, Expression, walk

_LOWERED: Mapping[str, Callable[..., Expression]] = {
    **dates.LOWERED,
    **logarithms.LOWERED,
    **zones.LOWERED,
}


def lower(expression: Expression) -> Expression:
    """Rewrite the expression with operators that all engines have."""
    copies: dict[Expression, Expression] = {}
    for node in walk(expression):
        if not isinstance(node, Call):
            copies[node] = node
            continue
        arguments = tuple(copies[argument] for argument in node.arguments)
        if node.operator in _LOWERED:
            copies[node] = _LOWERED[node.operator](*arguments)
        else:
            copies[node] = replace(node, arguments=arguments)
    return copies[expression]
