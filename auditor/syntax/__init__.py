"""Syntax trees of code nobody trusts, from maintained tree-sitter grammars: bounded in size, time, memory and depth."""

from skillkeep.auditor.syntax.tree import Syntax, UnparsedError, parse, walk

__all__ = ["Syntax", "UnparsedError", "parse", "walk"]
