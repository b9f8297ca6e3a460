"""`check static`: the installed source keeps its rules, and every excuse from one is named."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import dalenius
from dalenius.audit.checks.outcomes import Asked, Figure, Outcome
from dalenius.audit.checks.rules import RULES, Rule


def check(asked: Asked, /) -> Outcome:
    """Every rule over every file of the package."""
    trees = {path: parsed(text) for path, text in sources().items()}
    figures, findings = [], []
    for place, rule in enumerate(RULES, start=1):
        found = breaches(rule, trees)
        findings += found
        figures.append(Figure(rule.what, len(trees), f"{len(found)} breaches", rule.goal, held=not found))
        asked.tick(100 * place / len(RULES))
    return Outcome("static", tuple(figures), tuple(findings))


def sources() -> Mapping[str, str]:
    """The text of every file of the installed package, by its place in it."""
    root = Path(dalenius.__file__).parent
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.py"))}


@lru_cache(maxsize=2_000)
def parsed(text: str) -> ast.AST:
    """The syntax of a file."""
    return ast.parse(text)


def breaches(rule: Rule, trees: Mapping[str, ast.AST]) -> list[str]:
    """Where a rule is broken."""
    return [
        f"{path}:{line}: {what} ({rule.what})" for path, tree in trees.items() for line, what in rule.broken(path, tree)
    ]


def stale_excuses(rule: Rule, trees: Mapping[str, ast.AST]) -> list[str]:
    """Files and folders that are excused from a rule and keep it."""
    needed = {
        rule.excuse(path) for path, tree in trees.items() if rule.excuse(path) and list(rule.breaches(path, tree))
    }
    return [entry for entry in rule.excused if entry not in needed]
