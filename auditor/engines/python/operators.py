"""Binary operators on folded values, each bounded in the size of its result."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, Final

from skillkeep.auditor.engines.python.functions import concat, join_path, percent_format
from skillkeep.auditor.engines.python.values import HOLE, MAX_TEXT, UNKNOWN, Unknown, Value, alternatives, lift

__all__ = ["binary", "compare"]


def _repeat(left: Any, right: Any) -> Any:
    if isinstance(left, str | bytes | tuple) and isinstance(right, int):
        return left * right if len(left) * max(right, 0) <= MAX_TEXT else UNKNOWN
    if isinstance(right, str | bytes | tuple) and isinstance(left, int):
        return _repeat(right, left)
    return left * right


def _power(left: Any, right: Any) -> Any:
    small = isinstance(left, int) and isinstance(right, int) and 0 <= right <= 512 and left.bit_length() <= 64
    return left**right if small else UNKNOWN


def _shift(left: Any, right: Any) -> Any:
    return left << right if 0 <= right <= 4096 else UNKNOWN


def _divide(left: Any, right: Any) -> Any:
    return join_path(left, right) if isinstance(left, str) and isinstance(right, str) else left / right


_OPERATORS: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: concat,
    ast.Mult: _repeat,
    ast.Pow: _power,
    ast.LShift: _shift,
    ast.Div: _divide,
    ast.Sub: operator.sub,
    ast.FloorDiv: operator.floordiv,
    ast.RShift: operator.rshift,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
}


def _modulo(left: Any, right: Any) -> Any:
    return percent_format(left, right) if isinstance(left, str) else left % right


def binary(kind: ast.operator | None, left: Value, right: Value) -> Value:
    """Apply a binary operator; text joined with something unknown keeps what is known around a hole."""
    if isinstance(kind, ast.Mod):
        return lift(_modulo, left, HOLE if isinstance(right, Unknown) else right)
    if isinstance(kind, ast.Add | ast.Div):
        if isinstance(left, Unknown) and any(isinstance(item, str) for item in alternatives(right)):
            left = HOLE
        elif isinstance(right, Unknown) and any(isinstance(item, str) for item in alternatives(left)):
            right = HOLE
    function = _OPERATORS.get(kind.__class__)  # type: ignore[arg-type]
    return lift(function, left, right) if function is not None else UNKNOWN


_COMPARISONS: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.eq,
    ast.IsNot: operator.ne,
    ast.In: lambda item, items: item in items,
    ast.NotIn: lambda item, items: item not in items,
}


def compare(kind: ast.cmpop, left: Value, right: Value) -> Value:
    """Apply a comparison; what holds a hole compares to nothing that is known."""
    if any(isinstance(text, str) and HOLE in text for side in (left, right) for text in alternatives(side)):
        return UNKNOWN
    return lift(_COMPARISONS[kind.__class__], left, right)
