"""Functions of texts: on code points, compared bytewise, with ASCII case. Results are not brought to NFC again."""

from __future__ import annotations

from collections.abc import Callable

from dalenius.query.expressions import Expression
from dalenius.query.functions.arguments import (
    as_kind,
    constant,
    images,
    integer,
    is_nothing,
    made,
    made_text,
    nullable,
    texts,
    whole_constant,
)
from dalenius.query.functions.evaluation import LONGEST_TEXT
from dalenius.query.functions.numbers import clamp
from dalenius.query.functions.signatures import NEVER, REFUSED, Cell, Function, Unfit
from dalenius.query.types import LONGEST_KEPT, Bool, Number

LONGEST_PATTERN, MOST_FLOATING = 100, 4
"""Code points of a pattern. Matching one row takes as many steps as its text and the pattern are long, multiplied."""
_FAR = 2**31 - 1


def text_of_texts(name: str, *, null: bool = False) -> Callable[..., Expression]:
    """A text from texts; `null` where it can be NULL although no argument is."""

    def build(*arguments: Expression) -> Expression:
        return made_text(name, texts(*arguments), null=null)

    return build


def test_of_texts(name: str) -> Callable[..., Expression]:
    """True or false from texts."""

    def build(*arguments: Expression) -> Expression:
        found = texts(*arguments)
        return made(name, found, Bool(nullable(found)))

    return build


def like(x: Expression, pattern: Expression) -> Expression:
    x, wanted = as_kind(x, "text"), as_kind(pattern, "text")
    if not is_nothing(wanted) and len(constant(wanted, "the pattern")) > LONGEST_PATTERN:
        raise Unfit(
            f"a pattern has at most {LONGEST_PATTERN} characters",
            "Shorten the pattern, or use CONTAINS, STARTS_WITH or ENDS_WITH for a long text.",
        )
    if not is_nothing(wanted) and constant(wanted, "the pattern").partition("%")[2].count("_") > MOST_FLOATING:
        raise Unfit(
            f"a pattern has at most {MOST_FLOATING} _ behind its first %",  # each doubles what a matcher keeps in mind
            "Use fewer of them, LENGTH for how long a text is, or SUBSTRING for what stands at a place.",
        )
    return made("like", (x, wanted), Bool(nullable((x, wanted))))


def length(x: Expression) -> Expression:
    (x,) = texts(x)
    sizes = [int(size) for size in images("length", (x,)) or (0, LONGEST_KEPT) if size is not None] or [0]
    whole = made("length", (x,), Number(x.domain.nullable, min(sizes), max(sizes)))
    return clamp(whole, integer(0), integer(LONGEST_KEPT)) if max(sizes) > LONGEST_KEPT else whole


def substring(x: Expression, start: Expression, size: Expression | None = None) -> Expression:
    (x,) = texts(x)
    first = whole_constant(start, "the start", least=-_FAR, most=_FAR)
    count = _FAR if size is None else whole_constant(size, "the length", least=0, most=_FAR)
    begin, end = max(first, 1), max(first + count, 1)
    return made_text("substring", (x, integer(begin), integer(min(max(end - begin, 0), _FAR))))


_NULL = "NULL if an argument is NULL"
_TEXT = Cell("refused for what is not a text", (5,), REFUSED)
_PAIR = Cell("refused for what is not a text", ("a", 5), REFUSED)
_TEXTS = "a text: public if the arguments are (up to 10,000 combinations), else unknown"
_TOO_LONG = f"NULL above {LONGEST_TEXT:,} code points"
_BOOL = "true or false"


def _test(name: str, meaning: Cell) -> Function:
    return Function(
        name, "two texts", _BOOL, meaning, Cell(_NULL, ("a", None)), NEVER, _PAIR, test_of_texts(name), 2, 2
    )


FUNCTIONS = (
    Function(
        "like", "a text and a constant pattern", _BOOL,
        Cell("whether x matches: % is any text, _ one code point, there is no escape", ("50%", "5_\\%"), False),
        Cell(_NULL, (None, "a%")), NEVER,
        Cell(
            f"refused for a pattern above {LONGEST_PATTERN} code points, or with more than {MOST_FLOATING} _ behind "
            "the first %", ("a", "%" + "_" * (MOST_FLOATING + 1)), REFUSED
        ), like, 2, 2,
    ),
    Function(
        "concat", "texts", _TEXTS, Cell("one after the other", ("a", "b", "c"), "abc"), Cell(_NULL, ("a", None)),
        Cell(_TOO_LONG, ("a" * LONGEST_TEXT, "b")), _PAIR, text_of_texts("concat", null=True), 1, None,
        sql="||",
    ),
    Function(
        "lower", "a text", _TEXTS, Cell("A to Z in lower case; all else as it is", ("ÄBİ",), "Äbİ"),
        Cell(_NULL, (None,)), NEVER, _TEXT, text_of_texts("lower"), 1, 1,
    ),
    Function(
        "upper", "a text", _TEXTS, Cell("a to z in upper case; all else as it is", ("äbß",), "äBß"),
        Cell(_NULL, (None,)), NEVER, _TEXT, text_of_texts("upper"), 1, 1,
    ),
    Function(
        "trim", "a text", _TEXTS,
        Cell("without ASCII blanks (space, tab, line ends) at both ends", ("\t a b\n",), "a b"), Cell(_NULL, (None,)),
        NEVER, _TEXT, text_of_texts("trim"), 1, 1,
    ),
    Function(
        "length", "a text", f"a whole number up to {LONGEST_KEPT:,}",
        Cell("how many code points, of the 1,000 that are kept", ("é\N{COMBINING TILDE}",), 2),
        Cell(_NULL, (None,)), NEVER, _TEXT, length, 1, 1,
    ),
    Function(
        "substring", "a text, a constant start from 1 on, and a constant length (to the end if left out)", _TEXTS,
        Cell("the code points from start on, so many of them; places before 1 are empty", ("abcd", 0, 3), "ab"),
        Cell(_NULL, (None, 1, 2)), NEVER, Cell("refused for a negative length", ("abc", 1, -1), REFUSED),
        substring, 2, 3,
    ),
    Function(
        "replace", "three texts", _TEXTS,
        Cell("x with every `old`, from the left, replaced by `new`; an empty `old` changes nothing", ("aaa", "aa", "b"),
             "ba"),
        Cell(_NULL, ("a", "b", None)), Cell(_TOO_LONG, ("a" * 200, "a", "b" * 51)),
        Cell("refused for what is not a text", ("a", 5, "b"), REFUSED), text_of_texts("replace", null=True), 3, 3,
    ),
    _test("starts_with", Cell("whether x begins with y", ("abc", ""), True)),
    _test("ends_with", Cell("whether x ends with y", ("abc", "bc"), True)),
    _test("contains", Cell("whether y occurs in x", ("50%", "%"), True)),
)  # fmt: skip
