"""Writes the generated pages: textbook.md (row, import, theorem, test), errors.md (the error tree), functions.md (the
aggregates with their mechanisms, the scalar functions with what they do at the edges), command-line.md (the commands
and their options) and prices.svg (the error of a count against the number of questions).

Run by `make docs`; a test fails when a page is out of date, or a row has code that cannot be imported or has no test.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import log
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

import dalenius as dl
from dalenius.accounting.amounts import Charge
from dalenius.accounting.budget import RenyiFilter
from dalenius.cli.parser import commands_of, parser
from dalenius.cli.wording import MEANINGS
from dalenius.measuring.choosing import additive_noise
from dalenius.privacy.neighbours import AddRemove
from dalenius.privacy.sensitivity import Sensitivity
from dalenius.query.frames.formulas import Formula
from dalenius.query.functions.functions import FUNCTIONS, Function, literal, written
from dalenius.query.functions.signatures import REFUSED, Cell
from dalenius.query.rendering import text
from dalenius.query.sql.names import AGGREGATES

ROOT = Path(__file__).resolve().parents[1]
ROW = re.compile(r"S\d+\.\d+")
TEXTBOOK = re.compile(r"Textbook:(.+?)(?:\.(?:\s|$)|$)", re.DOTALL)
REFERENCE = re.compile(r"Reference:\s*(.+?)(?=\n\s*(?:Textbook|Guarantee|Reference):|\n\s*\n|$)", re.DOTALL)


@dataclass(frozen=True)
class Place:
    """A piece of code whose docstring names rows."""

    name: str
    path: str
    reference: str


def documented(node: ast.AST, path: Path, prefix: str) -> Iterator[tuple[str, Place]]:
    """Every (row, place) pair in `node` and below."""
    body = getattr(node, "body", [])
    text = ast.get_docstring(node) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) else None
    for match in TEXTBOOK.finditer(text or ""):
        found = REFERENCE.search(text or "")
        reference = " ".join(found[1].split()).rstrip(".") if found else ""
        for row in ROW.findall(match[1]):
            yield row, Place(prefix, str(path.relative_to(ROOT)), reference)
    for child in body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            yield from documented(child, path, f"{prefix}.{child.name}")


def code_places() -> dict[str, list[Place]]:
    places: dict[str, list[Place]] = defaultdict(list)
    for path in sorted((ROOT / "src").rglob("*.py")):
        module = path.relative_to(ROOT / "src" / "dalenius").with_suffix("")
        name = ".".join(part for part in module.parts if part != "__init__")
        for row, place in documented(ast.parse(path.read_text()), path, name):
            places[row].append(place)
    return places


def public_paths() -> dict[str, str]:
    """Where each piece of code can be imported: its shortest path of listed names, by module and name."""
    paths: dict[str, str] = {}
    for place, path in sorted(_listed(dl), key=lambda found: (found[1].count("."), found[1])):
        paths.setdefault(place, path)
    return paths


def _listed(package: ModuleType) -> Iterator[tuple[str, str]]:
    """Every (place, path) that a package or module lists, and those of its listed modules and public methods."""
    rooms = [folder.parent.name for folder in sorted((ROOT / "src" / "dalenius").glob("[a-z]*/__init__.py"))]
    for name in [*package.__all__, *(rooms if package is dl else [])]:
        found, path = getattr(package, name), f"{package.__name__}.{name}"
        if isinstance(found, ModuleType):
            yield from _listed(found) if hasattr(found, "__all__") else ()
        elif hasattr(found, "__qualname__"):
            yield _place(found), path
            yield from _methods(found, path) if isinstance(found, type) else ()


def _methods(kind: type, path: str) -> Iterator[tuple[str, str]]:
    for name, member in inspect.getmembers_static(kind):
        functions = [member, *(getattr(member, part, None) for part in ("__func__", "fget", "func"))]
        found = next(filter(inspect.isfunction, functions), None)
        if found and not name.startswith("_"):
            yield _place(found), f"{path}.{name}"


def _place(found: Any) -> str:
    return f"{found.__module__}.{found.__qualname__}".removeprefix("dalenius.")


def marked(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Every (row, test name) pair of a test file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.textbook":
                    yield from ((str(row.value), node.name) for row in mark.args if isinstance(row, ast.Constant))


def test_places() -> dict[str, list[tuple[str, str]]]:
    tests: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for row, name in marked(ast.parse(path.read_text())):
            tests[row].append((str(path.relative_to(ROOT)), name))
    return tests


def rows() -> dict[str, dict[str, str]]:
    """The groups with their rows, as rows.toml has them."""
    groups: dict[str, dict[str, str]] = tomllib.loads((ROOT / "docs" / "rows.toml").read_text())
    return groups


TEXTBOOK_HEAD = """# The textbook as code

Generated by `make docs` from docstrings and test marks: for each row of the source documents what to import, the
theorem that it rests on, and where the tests stand that would fail if it were wrong. [theorems.md](theorems.md) shows
the main ones at work. A row whose published form breaks privacy is implemented in corrected form; its broken form lives
in the tests, as a target that the checks must flag. What stands as `dalenius.room.Name` is taken by
`from dalenius.room import Name`; code that is marked as inside works for what stands above it.
"""


def textbook() -> str:
    code, tests, paths = code_places(), test_places(), public_paths()
    lines = [TEXTBOOK_HEAD]
    for number, group in rows().items():
        there = [row for row in group if code[row]]
        if there:
            lines += [
                f"## {number}. {group['title']}",
                "",
                "| row | what | import | theorem | tests |",
                "|---|---|---|---|---|",
            ]
            lines += [*(_row(row, group[row], code[row], tests[row], paths) for row in there), ""]
    lines += ["## Not there yet", "", "These rows have no code:", ""]
    for group in rows().values():
        names = [f"{name} ({row})" for row, name in group.items() if row != "title" and not code[row]]
        lines += [f"- {group['title']}: {'; '.join(names)}."] if names else []
    return "\n".join(lines) + "\n"


def _row(row: str, name: str, places: list[Place], tests: list[tuple[str, str]], paths: dict[str, str]) -> str:
    imports = [f"[`{paths[place.name]}`](../{place.path})" for place in places if place.name in paths]
    inside = [f"inside: [{place.name}](../{place.path})" for place in places if place.name not in paths]
    theorems = "<br>".join(dict.fromkeys(place.reference for place in places if place.reference))
    files = Counter(path for path, _ in tests)
    proofs = "<br>".join(f"{count} in [{Path(path).name}](../{path})" for path, count in files.items())
    return (
        "| "
        + " | ".join(cell.replace("|", "\\|") for cell in (row, name, "<br>".join(imports + inside), theorems, proofs))
        + " |"
    )


def errors() -> str:
    tree = ast.parse((ROOT / "src" / "dalenius" / "errors.py").read_text())
    lines = ["# Errors", "", "Generated by `make docs` from `dalenius.errors`.", "", "```text"]
    lines += [*(ast.get_docstring(tree) or "").splitlines(), "```"]
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            bases = ", ".join(ast.unparse(base) for base in node.bases)
            lines += ["", f"## {node.name}", "", f"*{bases}.* {ast.get_docstring(node)}"]
    return "\n".join(lines) + "\n"


AGGREGATES_HEAD = """# Functions

Generated by `make docs`. [Aggregates](#aggregates) are asked of all rows of a group, and get noise;
[scalar functions](#scalar-functions) are computed row by row, or from noisy answers.

## Aggregates

The mechanism is the one that `explain()` names. `PrivateQuantiles` is the exponential mechanism on the public grid of
the column. An aggregate that needs a delta is refused where the budget has none. The error bar covers the noise, at
95 % unless you choose another level, and not what clamping and contribution bounds leave out; where there is none, the
column of bars is NULL. [robust.md](robust.md) says when the `ROBUST_`, `STABLE_` and `PROPOSED_` aggregates are worth
their price.

| SQL | frame, in `dl.aggregates` | gives | mechanism | needs a delta | error bar |
|---|---|---|---|---|---|
"""

EXAMPLES = {"column": "x", "other": "y", "p": "0.9", "share": "0.1", "bound": 2}
"""An argument for each parameter of an aggregate."""
MECHANISM = re.compile(r"^  (\w+) with (?:statistic (\w+))?.*?(?:noise (\w+)|as `(\w+)`|$)", re.MULTILINE)


def aggregates() -> str:
    """The table of aggregates: names and texts from the code, the rest from what a made-up table answers."""
    functions = {
        name: function
        for name, function in inspect.getmembers(dl.aggregates, inspect.isfunction)
        if function.__module__ == dl.aggregates.__name__ and not name.startswith("_")
    }
    examples = {name: _examples(name, function) for name, function in functions.items()}
    asked = {name: function(*examples[name]) for name, function in functions.items()}
    lines = []
    rich, pure, approximate = _survey(2000, "1e-9"), _survey(1), _survey(1, "1e-9")
    with rich, pure, approximate:
        answer = rich.table("survey").agg(**asked).run(epsilon=1000).to_arrow()
        for name, formula in asked.items():
            without, best = _mechanism(pure, formula), _mechanism(approximate, formula)
            cells = [
                _in_sql(formula),
                f"`{name}({', '.join(map(repr, examples[name]))})`",
                " ".join((inspect.getdoc(functions[name]) or "").split()),
                f"{best}" if without in (None, best) else f"{without}; with a delta {best} where that is better",
                "yes" if without is None else "no",
                "no" if answer[f"{name} ±"][0].as_py() is None else "yes",
            ]
            lines.append("| " + " | ".join(cells) + " |\n")
    return AGGREGATES_HEAD + "".join(lines)


def _survey(epsilon: int, delta: str = "0") -> dl.Database:
    """A table with few different values, so that statistics that are released where they are stable have an answer."""
    values = [5] * 960 + [3, 4, 6, 7] * 10
    table = pa.table({"unit": range(1000), "x": values, "y": values, "kind": ["a", "b"] * 500})
    columns = {"x": dl.Int(0, 9), "y": dl.Int(0, 9), "kind": dl.Category("a", "b")}
    db = dl.create()
    db.add_population("people", budget=dl.Budget(epsilon, delta))
    db.add_table("survey", table, population="people", unit="unit", max_rows=1, columns=columns)
    return db


def _examples(name: str, function: Callable[..., Formula]) -> list[Any]:
    known = EXAMPLES | ({"column": "kind"} if name == "histogram" else {})
    parameters = [] if name == "count" else inspect.signature(function).parameters
    return [known[parameter] for parameter in parameters]


def _mechanism(db: dl.Database, term: Formula) -> str | None:
    """The mechanism that this budget pays for, with its noise; None where it is refused."""
    try:
        match = MECHANISM.search(db.table("survey").agg(value=term).explain(share="1%"))
    except dl.errors.QueryRefused:
        return None
    assert match is not None
    outer, statistic, noise, kin = match.groups()
    name = f"`{statistic or kin or outer}`"
    return f"{name} with `{noise}`" if noise else name


def _in_sql(formula: Formula) -> str:
    """The call in SQL, and the other names that SQL has for it."""
    call = text(formula.term)
    names = [name.upper() for name, (function, _, _) in AGGREGATES.items() if function == formula.term.function]
    others = [f"`{name}`" for name in names if not call.startswith(f"{name}(")]
    return ", also ".join([f"`{call}`", *others[:1]]) + "".join(f", {name}" for name in others[1:])


FUNCTIONS_HEAD = """
## Scalar functions

From `dalenius.query.functions.functions`; every cell is tested, in Python and on DuckDB.

Every function is total: it gives a value or NULL for every row, never an error, and the same on every engine. What is
not in this table is refused before anything is read. Inside, numbers are integers (a value divided by its step), so
there is no NaN and no infinity: a NaN in the data is read as NULL, and what the table says of NULL holds for it; an
infinity is moved to the nearest bound of its column. Arguments of another kind than stated are refused.
Ranges are known beforehand; what could reach 2^126 steps does not compile, so nothing overflows while a query runs.
Texts are compared byte by byte in UTF-8, counted in code points, and have ASCII case; data and constants are in the
normal form NFC, and functions do not bring their results into it again. Dates lie in the years 1 to 9999.
Of released values, in SELECT, HAVING and ORDER BY over aggregates, a function means the same, and where it would be
refused for its range it is NULL. Means and other floats are computed with as floats, and quotients are shown as floats.
A second name in the first column is the operator or name in SQL.

| function | takes | gives | meaning | NULL, NaN | overflow | outside its domain |
|---|---|---|---|---|---|---|
"""


def functions() -> str:
    return aggregates() + FUNCTIONS_HEAD + "".join(_function_row(function) for function in FUNCTIONS.values())


def _function_row(function: Function) -> str:
    cells = [
        _cell(function.name, cell) for cell in (function.meaning, function.null, function.overflow, function.outside)
    ]
    names = [f"`{name}`" for name in (function.name, function.sql) if name]
    texts = [", ".join(names), function.takes, function.gives, *cells]
    return "| " + " | ".join(text.replace("|", "\\|").replace("\n", "\\n") for text in texts) + " |\n"


def _cell(name: str, cell: Cell) -> str:
    if cell.arguments is None:
        return cell.text
    arguments = ", ".join(written(literal(argument)) for argument in cell.arguments)
    if len(arguments) > 60 or cell.result == REFUSED:
        return cell.text
    result = cell.result if isinstance(cell.result, str) else written(literal(cell.result))
    return f"{cell.text}: `{name}({arguments})` is `{result}`"


COMMANDS_HEAD = """# The command line

Generated by `make docs` from `dalenius.cli`. `dalenius COMMAND --help` shows the same.

An owner, once:

```
dalenius init clinic --population patients --epsilon 3 --delta 1e-9
dalenius add-table clinic visits visits.parquet --population patients --unit patient_id --max-rows 3 --max-groups 1
# fill in the question marks in clinic/catalog.toml: bounds, steps, categories
dalenius update-table clinic visits visits.parquet
dalenius grant clinic ana --tables visits --share 25%
```

Analysts, who see price and error before they pay:

```
dalenius cost clinic "SELECT city, COUNT(*) AS visits FROM visits GROUP BY city" --epsilon 0.2 --as ana
dalenius ask  clinic "SELECT city, COUNT(*) AS visits FROM visits GROUP BY city" --epsilon 0.2 --as ana --chart
dalenius ask  clinic "SELECT city, COUNT(*) AS visits FROM visits GROUP BY city" --error "50 at 95%" --as ana
```

The same against a server, with a token that is read from a file or from `DALENIUS_TOKEN` and never typed:

```
dalenius token clinic ana --out ana.token && dalenius serve clinic
dalenius ask http://127.0.0.1:8765 "SELECT COUNT(*) AS visits FROM visits" --epsilon 0.2 --token-file ana.token
```

- On a terminal, `ask` shows price and expected error and waits for a yes; in a pipe, or with `--yes`, it does not.
  `--at-most 1%` refuses what costs more, such as an `--error` that turns out to be expensive.
- What cannot be undone (`remove-table`, `partition`, `ledger reconcile`, a budget that promises little, the price of
  `--suggest-bounds`) is asked about first. Where nobody can be asked, as in a pipe, it is done only with `--yes`.
- `--max-rows` and `--max-groups` decide how wide error bars are: [guide.md](guide.md) says how to choose them.
- `tables`, `cost`, `ask`, `explain`, `rehearse`, `replays`, `card` and `registry` work on a folder and on a server; the
  others work on a folder alone.
- Answers go to standard output, all else to standard error, in lines that start with `dalenius:`. A traceback is only
  shown where `DALENIUS_TRACEBACK` is set; it may quote rows, and is for the owner.
- `--json` prints one JSON value in a stable format. Exact numbers are texts ("1/3"): shares are parts of a
  population's whole budget. `charged` of a replay is a text for people; its `shares` are exact, and null where a server
  lists it. An answer is what the ledger stores and a server sends:
  `{"answer": {"columns": [...], "level": ..., ...}, "left": ...}`.
- `add-table` reads the header of a file and no value: types come from a Parquet file's schema, and are `?` for a CSV
  file unless `--type age=Int` states them. Bounds, steps and categories are `?` until the owner fills them in, and
  `nullable` says for each column whether values may be missing. Once a table is fully declared, `catalog.toml` alone
  defines it.
- `add-table --suggest-bounds --epsilon 0.5` estimates bounds of the number columns. It counts, with noise and charged
  to the population, how many rows lie between edges that are the same for every file, one row per unit. It proposes
  edges one step outside those that enclose the counts which stand out from the noise. The price is shown first. Values
  of few people may lie outside; they will be clamped.
- Shells complete commands and options after `eval "$(dalenius completion bash)"`; the same for zsh, and
  `dalenius completion fish | source`.
"""


def command_line() -> str:
    lines = [COMMANDS_HEAD, "| exit code | means |", "|---|---|"]
    lines += [f"| {code} | {meaning} |" for code, meaning in MEANINGS.items()]
    for name, command in commands_of(parser()).items():
        lines += ["", f"## dalenius {name}", "", command.description or "", ""]
        lines += [f"- {_written_option(action)}" for action in command._actions if action.dest != "help"]
        lines += ["", "```text", command.epilog, "```"] if command.epilog else []
    return "\n".join(lines) + "\n"


def _written_option(action: argparse.Action) -> str:
    """An argument or option in a line: how it is written, and what it does."""
    value = action.metavar or ("{" + ",".join(map(str, action.choices)) + "}" if action.choices else "")
    names = [f"`{name} {value}`".replace(" `", "`") for name in action.option_strings] or [f"`{value}`"]
    needed = " (required)" if action.option_strings and action.required else ""
    return f"{', '.join(names)}{needed}: {(action.help or '').replace('%%', '%')}"


_WIDE, _HIGH, _EDGE = 640, 360, 56
_MOST_QUESTIONS, _LEAST_ERROR, _MOST_ERROR = 1000, 2, 5000


def prices() -> str:
    """The error of one of n equal counts that share a budget (1, 1e-6), by either sum: both axes are logarithmic."""
    renyi_filter = RenyiFilter.of(dl.Budget(1, "1e-6"))
    none = Charge(divergence=0, order=renyi_filter.order, epsilon=0)
    counts = sorted({round(10 ** (step / 12)) for step in range(37)})
    errors: list[list[tuple[int, int]]] = [[], []]
    for count in counts:
        for line, room in zip(errors, renyi_filter.room(share=Fraction(1, count), spent=[none]), strict=True):
            noise = additive_noise(Sensitivity.of(1), AddRemove("unit"), [room], Fraction(19, 20))
            line.append((count, noise.error(Fraction(1, 20))))
    best = [min(found) for found in zip(*errors, strict=True)]
    ticks = [_tick(place, 1, str(place)) for place in (1, 10, 100, 1000)]
    ticks += [_tick(1, size, f"± {size}", upright=True) for size in (3, 10, 30, 100, 300, 1000, 3000)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {_HIGH}" font-family="sans-serif" '
        'font-size="12">'
        f'<rect width="{_WIDE}" height="{_HIGH}" fill="#ffffff"/>{"".join(ticks)}'
        + _line(best, "stroke:#9fd8c4;stroke-width:9", "fill:#2f7d62", 0, "what a question gets")
        + _line(errors[0], "stroke:#b5482f;stroke-width:2", "fill:#b5482f", 1, "by adding up epsilons")
        + _line(errors[1], "stroke:#23618e;stroke-width:2", "fill:#23618e", 2, "by adding up Rényi divergences")
        + f'<text x="{_WIDE / 2}" y="{_HIGH - 8}" text-anchor="middle">questions that share the budget equally</text>'
        f'<text x="{_EDGE}" y="16">error of a count at 95 %, budget ε = 1, δ = 1e-6</text></svg>\n'
    )


def _at(count: float, error: float) -> tuple[float, float]:
    """Where a point of the picture stands."""
    across = log(count) / log(_MOST_QUESTIONS)
    up = log(error / _LEAST_ERROR) / log(_MOST_ERROR / _LEAST_ERROR)
    return _EDGE + across * (_WIDE - 2 * _EDGE), _HIGH - _EDGE - up * (_HIGH - 2 * _EDGE)


def _line(points: list[tuple[int, int]], line: str, text: str, row: int, name: str) -> str:
    path = " ".join(f"{x:.0f},{y:.0f}" for x, y in (_at(*point) for point in points))
    return (
        f'<polyline points="{path}" fill="none" style="{line}"/>'
        f'<text x="{_WIDE / 2 + 40:.0f}" y="{_HIGH - _EDGE - 48 + 18 * row}" style="{text};font-weight:bold">{name}'
        "</text>"
    )


def _tick(count: float, error: float, label: str, *, upright: bool = False) -> str:
    x, y = _at(count, max(error, _LEAST_ERROR))
    end, place, anchor = ((_WIDE - _EDGE, y), (x - 6, y + 4), "end") if upright else ((x, _EDGE), (x, y + 18), "middle")
    return (
        f'<line x1="{x:.0f}" y1="{y:.0f}" x2="{end[0]:.0f}" y2="{end[1]:.0f}" stroke="#dddddd"/>'
        f'<text x="{place[0]:.0f}" y="{place[1]:.0f}" text-anchor="{anchor}" fill="#444444">{label}</text>'
    )


PAGES = {
    "textbook.md": textbook,
    "errors.md": errors,
    "functions.md": functions,
    "command-line.md": command_line,
    "prices.svg": prices,
}

if __name__ == "__main__":
    for page, content in PAGES.items():
        (ROOT / "docs" / page).write_text(content())
