"""How SQL text becomes nodes: the words, the limits on size, and the refusal of whatever is not on a list.

sqlglot splits and nests the text and is trusted for nothing else. Its own tables of functions are emptied, so that
every call keeps the name and the arguments that were written, and `only` refuses a node that carries anything more.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, ClassVar

from sqlglot import Dialect, ErrorLevel, Token, TokenType, exp
from sqlglot import Parser as AnyParser
from sqlglot import Tokenizer as AnyTokenizer
from sqlglot.errors import SqlglotError

from dalenius.errors import NotUnderstood

LONGEST = 100_000
"""Characters in a question."""
MOST_TOKENS = 10_000
"""Words, numbers and signs in a question."""
DEEPEST_BRACKETS = 20
"""Brackets and CASE inside each other."""
DEEPEST_TREE = 100
"""Steps from a statement down to its smallest part; a chain of ANDs takes one for each."""

MOST_REREADING = 5_000
"""Words that the parser may read again, beside two for each word; what is understood needs less than one in five."""

SEE_THE_LIST = "Leave it out; the page on functions lists what may be written."

logging.getLogger("sqlglot").addHandler(logging.NullHandler())  # an analyst's text is not for the operator's terminal


class Lost(SqlglotError):
    """The parser went back too often: what it tries may grow as 2^n for n joins or brackets."""


class Grammar(Dialect):
    """SQL as it is written here: standard quoting, DuckDB's `//` and `==`, and no function known by name."""

    NULL_ORDERING = "nulls_are_last"

    class Tokenizer(AnyTokenizer):
        KEYWORDS: ClassVar = {**AnyTokenizer.KEYWORDS, "//": TokenType.DIV, "==": TokenType.EQ}

    class Parser(AnyParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: AnyParser.FUNCTION_PARSERS[name] for name in ("CAST", "TRY_CAST", "EXTRACT", "SUBSTRING", "TRIM")
        }

        def _retreat(self, index: int) -> None:
            self.reread = getattr(self, "reread", 0) + max(0, self._index - index)
            if self.reread > MOST_REREADING + 2 * len(self._tokens):
                raise Lost
            super()._retreat(index)

        def _parse_string_as_identifier(self) -> None:
            """FROM 'file.csv' names a file, never a table."""

        def _build_predicate(
            self, klass: Any, this: Any, expression: Any, comments: Any = None, negate: bool = False
        ) -> exp.Expr:
            # sqlglot's own puts in brackets that nobody wrote; sql_terms.operand asks for them instead.
            node: exp.Expr = klass(this=this, expression=expression, **({"negate": True} if negate else {}))
            return self.expression(node, comments=comments)


def statement(text: str) -> exp.Expr:
    """The one statement in the text, as sqlglot nests it; raises only `NotUnderstood`."""
    _check_characters(text)
    try:
        tokens = Grammar().tokenize(text)
    except SqlglotError:
        raise NotUnderstood(
            text, rule="a quote or comment is not closed", instead="Close every quote, quoted name and comment."
        ) from None
    _check_tokens(text, tokens)
    tree = _parsed(text, tokens)
    _check_depth(text, tree)
    return tree


def _check_characters(text: str) -> None:
    if not isinstance(text, str):
        raise NotUnderstood(type(text).__name__, rule="a question in SQL is a text", instead="Write it as a str.")
    if len(text) > LONGEST:
        raise NotUnderstood(
            text, rule=f"a question has at most {LONGEST} characters", instead="Use fewer columns or shorter lists."
        )
    if any(_unwritable(char) for char in text):
        shown = "".join("?" if _unwritable(char) else char for char in text)
        raise NotUnderstood(
            shown, rule="it holds a control character or half of a pair", instead="Write it in plain Unicode text."
        )


def _unwritable(char: str) -> bool:
    return (char < " " and char not in "\t\n\r\f") or "\x7f" <= char <= "\x9f" or "\ud800" <= char <= "\udfff"


def _check_tokens(text: str, tokens: list[Token]) -> None:
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise NotUnderstood(text or "(nothing)", rule="there is no question in it", instead="Write SELECT ... FROM ...")
    if len(tokens) > MOST_TOKENS:
        raise NotUnderstood(
            text, rule=f"a question has at most {MOST_TOKENS} words and signs", instead="Use shorter lists."
        )
    if any(token.token_type == TokenType.SEMICOLON for token in tokens):
        raise NotUnderstood(
            text, rule="a question is a single statement", instead="Ask one SELECT at a time, without ';' inside."
        )
    if tokens[0].token_type not in (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN):
        raise NotUnderstood(
            text, rule=f"only SELECT is understood, not {tokens[0].text[:40]}", instead="Write SELECT ... FROM ..."
        )
    _check_numbers(tokens)
    _check_nesting(text, tokens)


def _check_numbers(tokens: list[Token]) -> None:
    # sqlglot reads 1_000 as "1 AS _000".
    for number, after in pairwise(tokens):
        glued = number.end + 1 == after.start and after.token_type in (TokenType.VAR, TokenType.NUMBER)
        if number.token_type == TokenType.NUMBER and glued:
            raise NotUnderstood(
                number.text + after.text, rule="it is neither a number nor a name", instead="Write digits alone: 1000."
            )


_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}


def _check_nesting(text: str, tokens: list[Token]) -> None:
    depth = 0
    for token in tokens:
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if depth > DEEPEST_BRACKETS:
            raise _too_deep(text)


def _parsed(text: str, tokens: list[Token]) -> exp.Expr:
    try:
        parser = Grammar().parser(error_level=ErrorLevel.IMMEDIATE)
        trees = [tree for tree in parser.parse(tokens, text) if tree is not None]
    except Lost:
        raise NotUnderstood(
            text,
            rule="it can be read in too many ways",
            instead="Write ON or USING after every JOIN, and fewer brackets.",
        ) from None
    except SqlglotError as error:
        place = "".join(f" near {mistake['highlight'][:40]!r}" for mistake in getattr(error, "errors", [])[:1])
        raise NotUnderstood(
            text, rule=f"it does not read as SQL{place}", instead="Check the order of the clauses, commas and brackets."
        ) from None
    except RecursionError:
        raise _too_deep(text) from None
    except Exception:  # a fault of the parser is not the analyst's to read
        raise NotUnderstood(text, rule="it does not read as SQL", instead="Write it in a simpler way.") from None
    if len(trees) != 1:
        raise NotUnderstood(text, rule="a question is a single statement", instead="Ask one SELECT at a time.")
    return trees[0]


def _too_deep(text: str) -> NotUnderstood:
    return NotUnderstood(
        text,
        rule=f"it is nested too deeply (at most {DEEPEST_BRACKETS} brackets and chains of {DEEPEST_TREE - 10} terms)",
        instead="Name inner questions with WITH, and write long chains of OR as IN (...).",
    )


def _check_depth(text: str, tree: exp.Expr) -> None:
    waiting = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > DEEPEST_TREE:
            raise _too_deep(text)
        waiting.extend((child, depth + 1) for child in _children(node))


def _children(node: exp.Expr) -> Iterator[exp.Expr]:
    for value in node.args.values():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, exp.Expr):
                yield part


def written(node: exp.Expr) -> str:
    """The text of a node, for error messages."""
    try:
        text = node.sql(dialect=Grammar, unsupported_level=ErrorLevel.IGNORE, comments=False)
    except Exception:  # sqlglot parses some things that it cannot write
        text = ""
    return text or type(node).__name__.upper()


def refusal(node: exp.Expr, *, rule: str, instead: str) -> NotUnderstood:
    """The error that refuses a question because of this part of it."""
    return NotUnderstood(written(node), rule=rule, instead=instead)


def only(node: exp.Expr, *known: str) -> None:
    """Refuse a node that carries an argument which its reader does not look at."""
    for name, value in node.args.items():
        if name not in known and not _absent(value):
            part = value[0] if isinstance(value, list) else value
            rule, instead = _ARGUMENTS.get(name, (f"{name.strip('_').upper()} is not understood here", SEE_THE_LIST))
            raise refusal(part if isinstance(part, exp.Expr) else node, rule=rule, instead=instead)


def _absent(value: Any) -> bool:
    return value is None or value is False or (isinstance(value, list) and not value)


_ARGUMENTS = {
    "hint": ("hints are not understood", "Leave the hint out."),
    "hints": ("hints are not understood", "Leave the hint out."),
    "windows": ("a window looks at other people's rows", "Use GROUP BY and an aggregate."),
    "qualify": ("a window looks at other people's rows", "Use GROUP BY and HAVING."),
    "sample": ("which rows are drawn would not be public", "Leave TABLESAMPLE out; noise hides each person already."),
    "laterals": ("LATERAL is not understood", "Use JOIN ... ON."),
    "into": ("a question writes nothing", "Leave INTO out."),
    "pivots": ("PIVOT is not understood", "Use GROUP BY, or SUM(CASE WHEN ... END)."),
    "offset": ("OFFSET is not understood", "Ask for the whole list, or use LIMIT alone."),
    "locks": ("a question locks nothing", "Leave FOR UPDATE out."),
    "totals": ("WITH TOTALS is not understood", "Ask for the total in a question of its own."),
    "all": ("GROUP BY ALL is not understood", "Name the columns to group by."),
    "recursive": ("WITH RECURSIVE is not understood", "Use plain WITH."),
    "materialized": ("MATERIALIZED is not understood", "Use WITH name AS (...)."),
    "db": ("tables are named by one word", "Leave the schema or database out."),
    "catalog": ("tables are named by one word", "Leave the schema or database out."),
    "columns": ("columns are not renamed in an alias", "Name them inside, with SELECT x AS name."),
    "nulls_first": ("NULL is always shown last", "Leave NULLS FIRST out."),
    "limit_options": ("LIMIT takes a number of rows", "Write LIMIT 10."),
    "symmetric": ("SYMMETRIC is not understood", "Write the smaller bound first."),
    "match_condition": ("ASOF joins are not understood", "Use JOIN ... ON with equalities."),
    "on": ("DISTINCT ON is not understood", "Use GROUP BY with MIN or MAX."),
    "format": ("casts take no format", "Leave FORMAT out."),
    "version": ("a question sees the present data", "Leave the version out."),
    "ordinality": ("ORDINALITY is not understood", "Leave it out."),
    "exclude": ("columns are named one by one", "Write the names of the columns."),
}
