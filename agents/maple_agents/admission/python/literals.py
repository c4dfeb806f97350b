"""What an expression of Python comes to without running it."""

from __future__ import annotations

import ast

UNKNOWN = object()


def dotted(node: ast.AST) -> str:
    """Return a name such as a.b.c; of what is computed only the last."""
    words: list[str] = []
    while isinstance(node, ast.Attribute):
        words.append(node.attr)
        node = node.value
    words.append(node.id if isinstance(node, ast.Name) else "")
    return ".".join(reversed(words))


def literal(node: ast.expr, names: dict[str, object], depth: int = 0) -> object:
    """Return the value of a constant, of a name of one, of -1 and of 4 * 1024."""
    if isinstance(node, ast.Constant) and not isinstance(node.value, (bytes, complex)):
        return node.value
    if isinstance(node, ast.Name):
        return names.get(node.id, UNKNOWN)
    if depth > 4:
        return UNKNOWN
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = literal(node.operand, names, depth + 1)
        return -value if isinstance(value, (int, float)) else UNKNOWN
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        one, other = (literal(each, names, depth + 1) for each in (node.left, node.right))
        if isinstance(one, int) and isinstance(other, int) and max(abs(one), abs(other)) < 1 << 40:
            return one * other
    if isinstance(node, ast.Attribute) and dotted(node) in ("torch.bfloat16", "torch.float16", "torch.float32"):
        return node.attr
    return UNKNOWN


def text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)[:2000]
