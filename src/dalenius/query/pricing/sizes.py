"""How large one question may be: looked at when it is priced, before anything is charged, by public facts alone.

Whoever only wants to know a price meets the same limits as whoever pays: what can be explained can be asked and stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from dalenius.errors import QueryRefused, TooManyKeys
from dalenius.query.pricing.measurements import Program
from dalenius.query.questions import KeyOf, Post, Question
from dalenius.query.types import Choice

MOST_COLUMNS = 200
"""How many columns an answer may show, and of how many different statistics they may be made."""
MOST_PASSES = 100
"""How often the data may be read for one question."""
MOST_MEASUREMENTS = 300
"""How many numbers of one group are measured for one question; a correlation takes up to six, and its bar is worked out
from all of them."""
MOST_DERIVATION = 1_000_000
"""The longest derivation, in bytes of UTF-8."""
MOST_ANSWER = 200_000_000
"""The longest answer that a ledger keeps, in bytes."""
_OF_VALUE = 24
"""How long a number becomes as JSON, with a comma."""


def require_columns(question: Question) -> None:
    """Refuse an answer with too many columns, or with columns that are made of too many statistics."""
    shown, statistics = len(question.output.columns), len(question.statistics)
    if max(shown, statistics) > MOST_COLUMNS:
        what = f"{shown} columns" if shown > MOST_COLUMNS else f"columns made of {statistics} statistics"
        raise QueryRefused(
            "the answer",
            rule=f"it has {what}, and at most {MOST_COLUMNS} are allowed in one question",
            instead="Ask for some of them here, and for the others in further questions.",
        )


def require_passes(program: Program) -> None:
    """Refuse a question for which the data would be read too often, or too much measured."""
    if len(program.measurements) > MOST_MEASUREMENTS:
        raise QueryRefused(
            "the question",
            rule=f"its columns are made of {len(program.measurements)} measurements, and at most {MOST_MEASUREMENTS} "
            "are allowed",
            instead="Ask for fewer correlations, covariances, variances or means of different terms in one question.",
        )
    if len(program.passes) > MOST_PASSES:
        raise QueryRefused(
            "the question",
            rule=f"the data would be read {len(program.passes)} times for it, and at most {MOST_PASSES} are allowed",
            instead="Ask for fewer quantiles, modes, histograms or counts of different values in one question: each of "
            "their columns is read by itself.",
        )


def require_rows(question: Question) -> None:
    """Refuse an answer about so many public keys that it would be too long; one of found keys is shortened."""
    rows, columns = question.public_rows, question.output.columns
    most = MOST_ANSWER // sum(_length(question, post) for _, post in columns)
    if rows is not None and rows > most:
        raise TooManyKeys(
            "the answer",
            rule=f"it shows {rows:,} rows of {len(columns)} columns, and at most {most:,} such rows are allowed",
            instead="Use coarser or fewer keys, as with BIN(x, width), DATE_TRUNC or WHERE x IN (...), or fewer "
            "columns.",
        )


def _length(question: Question, post: Post) -> int:
    """How many bytes of an answer one value becomes, with its bar."""
    if not isinstance(post, KeyOf):
        return 2 * _OF_VALUE * question.width(post)
    domain = question.key_domains[post.index]
    texts = domain.values if isinstance(domain, Choice) else ()
    return max([_OF_VALUE, *(len(json.dumps(text, ensure_ascii=False).encode()) + 1 for text in texts)])


def derived(lines: Iterable[str]) -> str:
    """The lines of a derivation as one text; refuses one that becomes too long, as soon as it does."""
    kept, length = [], 0
    for line in lines:
        kept.append(line)
        length += len(line.encode(errors="surrogatepass")) + 1
        if length > MOST_DERIVATION:
            raise QueryRefused(
                "the question",
                rule=f"its derivation, which is stored with the answer, is longer than {MOST_DERIVATION:,} bytes",
                instead="Ask for fewer columns at once, or with shorter terms and conditions.",
            )
    return "\n".join(kept)
