"""`check static`: the installed source keeps its rules, and every excuse from one is named.

Rules that the source keeps, each found by looking at the syntax of a file: nothing is run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import dalenius
from dalenius.checks.outcomes import CheckRequest, Figure, Outcome

Breach: TypeAlias = "tuple[int, str]"
"""The line, and what stands there."""

FLOORS = (
    {"errors"},
    {"lazy", "process"},
    {"privacy"},
    {"randomness", "accounting", "query"},
    {"sandbox"},
    {"mechanisms"},
    {"measuring"},
    {"engines"},
    {"ledger"},
    {"catalog"},
    {"session"},
    {"tabular"},
    {"synth"},
    {"learn", "stream", "local", "games"},
    {"textbook"},
    {"server"},
    {"console"},
    {"attacks"},
    {"verify"},
    {"checks"},
    {"cli"},
    {"__init__", "__main__"},
)
"""The rooms from the ground up: each may import those below it."""
_FLOOR = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}

_WEAK_MODULES = {"random", "secrets", "pickle", "marshal", "shelve", "dill", "joblib", "cloudpickle"}
_WEAK_CALLS = {"eval", "exec", "compile", "__import__"}
_WEAK_NAMES = {
    "np.random", "numpy.random", "pc.random", "pyarrow.compute.random", "yaml.load", "yaml.unsafe_load",
    *(f"builtins.{name}" for name in _WEAK_CALLS),
    *(f"torch.{name}" for name in (
        "load", "random", "distributions", "rand", "rand_like", "randn", "randn_like", "randint", "randint_like",
        "randperm", "normal", "bernoulli", "multinomial", "poisson",
    )),
}  # fmt: skip
_FLOAT_LAWS = {"exp", "log", "log1p", "expm1", "log2", "log10", "pow", "gumbel", "laplace"}
_SOURCES = {"os.urandom", "os.getrandom", "uuid.uuid4", "uuid.uuid1", "ssl.RAND_bytes"}
_SEAL = "_Exact" + "__value"
_SEEDS = {"seed", "random_seed", "random_state", "rng", "generator", "nonce"}
_SQL = re.compile(
    r"\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|DROP|ATTACH|COPY|PRAGMA|ALTER TABLE|FROM|WHERE|GROUP BY|ORDER BY"
    r"|HAVING|LIMIT|UNION|JOIN)\b"
    r"|(?is:\b(select\b.*\bfrom\s|insert\s+into\s|update\b.*\bset\s|delete\s+from\s|drop\s+(table|view)\b"
    r"|create\s+(table|view|or\s+replace)\b|alter\s+table\b|copy\b.*\bto\s+'|attach\s+'|union\s+all\b))"
)
"""Words of SQL in capitals, or whole statements however they are written."""
_PLACEHOLDER = " ? "
_ENGINE_CHANCE = re.compile(
    r"\b(random|rand|setseed|gen_random_uuid|uuid|randn|shuffle)\s*\(|\btablesample\b|\busing\s+sample\b", re.IGNORECASE
)
_ENGINE_DRAWS = {"rand", "randn", "random", "shuffle", "sample", "sampleBy", "randomSplit", "uuid"}


@dataclass(frozen=True)
class SourceRule:
    """One rule: where it looks, what it finds there, and the files that are excused, each for a stated reason."""

    what: str
    goal: str
    breaches: Callable[[str, ast.AST], Iterator[Breach]]
    excused: Mapping[str, str]

    def broken(self, path: str, tree: ast.AST) -> list[Breach]:
        """What a file breaks; `path` is its place in the package."""
        return [] if self.excuse(path) else list(_seen(self.breaches, path, tree))

    def excuse(self, path: str) -> str | None:
        """The entry that excuses a file: its own, or that of a folder it lies in."""
        return next((entry for entry in self.excused if path == entry or path.startswith(f"{entry}/")), None)


@lru_cache(maxsize=100_000)
def _seen(look: Callable[[str, ast.AST], Iterator[Breach]], path: str, tree: ast.AST) -> tuple[Breach, ...]:
    """What a look finds in a file, looked for once: where a line is planted in one file, all others stay the same."""
    return tuple(look(path, tree))


# ---- what each rule looks for


def upward(path: str, tree: ast.AST) -> Iterator[Breach]:
    """Imports that do not point down."""
    room = path.split("/")[0].removesuffix(".py")
    for line, module in _imported(tree):
        if not module.startswith("dalenius."):
            continue
        other = module.split(".")[1]
        above = _FLOOR.get(other, len(FLOORS)) >= _FLOOR.get(room, -1)
        if other != room and above:
            yield line, f"{room} imports {other}"


def weak(path: str, tree: ast.AST) -> Iterator[Breach]:
    """Weak randomness, code that is made of data, and data that is loaded as code."""
    for line, module in _imported(tree):
        if module.split(".")[0] in _WEAK_MODULES or module.startswith("numpy.random"):
            yield line, module
    yield from ((line, name) for line, name in _used(tree) if name in _WEAK_NAMES)
    for node in _nodes(tree):
        if isinstance(node, ast.Name) and node.id in _WEAK_CALLS:
            yield node.lineno, f"{node.id}()"
        if isinstance(node, ast.Attribute) and node.attr in {"read_pickle", "to_pickle"}:
            yield node.lineno, node.attr
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "samples":
            yield node.lineno, "samples()"  # of statistics.NormalDist, whose quantiles are welcome
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle" and not _is_false(node.value):
            yield node.value.lineno, "allow_pickle"


def float_laws(path: str, tree: ast.AST) -> Iterator[Breach]:
    """Float logarithms and exponentials: `math.exp`, `np.log` and their kin."""
    for node in _nodes(tree):
        if isinstance(node, ast.Attribute) and node.attr in _FLOAT_LAWS:
            if _unaliased(node, tree).split(".")[0] in {"math", "np", "numpy", "cmath"}:
                yield node.lineno, _dotted(node)
        elif isinstance(node, ast.ImportFrom) and node.module in {"math", "cmath", "numpy"}:
            yield from ((node.lineno, f"{node.module}.{each.name}") for each in node.names if each.name in _FLOAT_LAWS)
        if isinstance(node, ast.ImportFrom) and node.module == "scipy" and any(a.name == "stats" for a in node.names):
            yield node.lineno, "scipy.stats"
    yield from ((line, module) for line, module in _imported(tree) if module.startswith("scipy.stats"))


def composed_sql(path: str, tree: ast.AST) -> Iterator[Breach]:
    """Texts with the words of SQL that are put together from parts: f-strings, +, %, format, join and replace."""
    held = _holding_sql(tree)

    def written(node: ast.AST) -> bool:
        return _is_sql(node) or (isinstance(node, ast.Name) and node.id in held)

    for node in _nodes(tree):
        if isinstance(node, ast.JoinedStr):
            if _is_sql(node) and any(isinstance(part, ast.FormattedValue) for part in node.values):
                yield node.lineno, "an f-string"
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
            if _is_sql(node) or written(node.left) or (isinstance(node.op, ast.Add) and written(node.right)):
                yield node.lineno, "a text that is added to"
        elif isinstance(node, ast.AugAssign) and (written(node.target) or written(node.value)):
            yield node.lineno, "a text that is added to"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MAKE_TEXT:
            made_of = [node.func.value, *(node.args if node.func.attr == "join" else ())]
            if any(map(written, made_of)):
                yield node.lineno, f"a text with {node.func.attr}()"


_MAKE_TEXT = {"format", "format_map", "join", "replace"}
_LENGTHEN = {"append", "extend", "insert"}


@lru_cache(maxsize=2_000)
def _holding_sql(tree: ast.AST) -> frozenset[str]:
    """The names that are given words of SQL in a file, as a text or as a list of parts."""
    given: list[tuple[ast.AST, ast.AST]] = []
    for node in _nodes(tree):
        if isinstance(node, ast.Assign):
            given += [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.AnnAssign | ast.AugAssign) and node.value is not None:
            given.append((node.target, node.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LENGTHEN:
            given += [(node.func.value, each) for each in node.args]
    return frozenset(name.id for name, value in given if isinstance(name, ast.Name) and _is_sql(value))


def opening(path: str, tree: ast.AST) -> Iterator[Breach]:
    """Whatever could open an `Exact`, see one opened, or keep what is inside when a function is mapped over it."""
    for node in _nodes(tree):
        found = _named(node, "id", "attr", "name", "value") & _OPENERS
        if found and not isinstance(node, ast.FunctionDef):
            yield getattr(node, "lineno", 0), " or ".join(sorted(found))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "map":
            inside = [part for each in (*node.args, *node.keywords) for part in ast.walk(each)]
            kept = [part.attr for part in inside if isinstance(part, ast.Attribute) and part.attr in _KEEPERS]
            yield from ((node.lineno, f"map() with {name}") for name in kept)


_OPENERS = {"unseal", _SEAL, "_witnesses"}
_KEEPERS = {
    "append", "appendleft", "extend", "insert", "add", "update", "setdefault", "put", "send", "write", "__setitem__",
    "__setattr__",
}  # fmt: skip
"""Methods that put a value where it stays."""


def _named(node: ast.AST, *fields: str) -> set[str]:
    """The texts in these fields of a node."""
    return {text for field in fields if isinstance(text := getattr(node, field, None), str)}


def random_bits(path: str, tree: ast.AST) -> Iterator[Breach]:
    """Random bits taken past `randomness.entropy`."""
    yield from ((line, name) for line, name in _used(tree) if name in _SOURCES)


def seeds(path: str, tree: ast.AST) -> Iterator[Breach]:
    """Parameters of public functions, and fields of classes, that could make noise repeat itself."""
    for node in _nodes(tree):
        if isinstance(node, ast.ClassDef):
            fields = [part.target for part in node.body if isinstance(part, ast.AnnAssign)]
            names = {field.id for field in fields if isinstance(field, ast.Name)}
            yield from ((node.lineno, f"{node.name}.{name}") for name in sorted(names & _SEEDS))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not re.match(r"_[^_]", node.name):
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            yield from ((node.lineno, f"{node.name}({each.arg})") for each in given if each.arg in _SEEDS)


def engine_chance(path: str, tree: ast.AST) -> Iterator[Breach]:
    """Functions of an engine that draw, in texts that an engine may be given and in calls of its own language."""
    for node in _nodes(tree) if path.startswith("engines/") else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from ((node.lineno, found[0]) for found in _ENGINE_CHANCE.finditer(node.value))
        elif isinstance(node, ast.Attribute) and node.attr in _ENGINE_DRAWS:
            yield node.lineno, f"{node.attr}()"


def past_the_door(path: str, tree: ast.AST) -> Iterator[Breach]:
    """Releases that nobody pays for, and looks at what the door measures."""
    harmless = {id(node.func) for node in _nodes(tree) if isinstance(node, ast.Call) and _releases_nothing(node)}
    for node in _nodes(tree):
        if isinstance(node, ast.Attribute) and node.attr == "release" and id(node) not in harmless:
            yield node.lineno, "release()"
        if isinstance(node, ast.Call) and _name(node.func) in _BY_NAME and any(map(_is_release, node.args)):
            yield node.lineno, f"{_name(node.func)}() of release"
        if "witnessed" in _named(node, "id", "attr", "name") and not isinstance(node, ast.FunctionDef):
            yield getattr(node, "lineno", 0), "witnessed"


_BY_NAME = {"getattr", "attrgetter", "methodcaller"}


def _releases_nothing(call: ast.Call) -> bool:
    """Whether the release of a mechanism, which takes a value and entropy, could not be what is called: something is
    given alone, as to a lock, or an allowance in their midst, as to a strategy, which pays for what it measures."""
    if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords):
        return False
    if len(call.args) + len(call.keywords) < 2:
        return True
    return len(call.args) > 2 and _name(call.args[1]) == "allowance"


def _is_release(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value == "release"


def _name(node: ast.AST) -> str:
    """The last part of a name, dotted or plain."""
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _is_false(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _used(tree: ast.AST) -> Iterator[Breach]:
    """Every name of a module that is used or imported, with the module's own name in front."""
    for node in _nodes(tree):
        if isinstance(node, ast.Attribute):
            yield node.lineno, _unaliased(node, tree)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{each.name}") for each in node.names)


def _unaliased(node: ast.Attribute, tree: ast.AST) -> str:
    """A dotted name with the module's own name in front, whatever it is called in this file."""
    first, *rest = _dotted(node).split(".")
    return ".".join([_aliases(tree).get(first, first), *rest])


@lru_cache(maxsize=2_000)
def _aliases(tree: ast.AST) -> dict[str, str]:
    imports = [node for node in _nodes(tree) if isinstance(node, ast.Import)]
    return {each.asname: each.name for node in imports for each in node.names if each.asname}


@lru_cache(maxsize=2_000)
def _nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree))


def _dotted(node: ast.Attribute) -> str:
    """`a.b` for an attribute of a plain name."""
    return f"{node.value.id}.{node.attr}" if isinstance(node.value, ast.Name) else ""


def _imported(tree: ast.AST) -> Iterator[Breach]:
    """The modules that are imported, by a statement or by a call that names one."""
    for node in _nodes(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.lineno, node.module
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and _name(node.func) in {"import_module", "__import__"}:
            given = (*node.args, *(each.value for each in node.keywords))
            yield from ((node.lineno, _text(each)) for each in given if isinstance(each, ast.Constant))


def _is_sql(node: ast.AST) -> bool:
    return _SQL.search(_text(node)) is not None


def _text(node: ast.AST) -> str:
    """The text that a node stands for, with a placeholder for whatever is not written out."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else _PLACEHOLDER
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    if isinstance(node, ast.List | ast.Tuple):
        return " ".join(map(_text, node.elts))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    return _PLACEHOLDER


# ---- the rules

_SPELLING = {
    "engines/duckdb": "spells plans and imports for DuckDB, from bound plans, quoted names and escaped constants",
    "engines/postgres": "spells plans and looks for PostgreSQL, in the same way",
    "engines/spark": "spells plans and looks for Spark, in the same way",
    "engines/sql": "spells what the engines have in common",
    "tabular/predicates.py": "a condition is read as a part of one constant question, bound, and run nowhere",
    "ledger/checking.py": "its parts are constants of the ledger's own tables",
    "ledger/ledger.py": "its parts are placeholders, as many as there are values",
    "ledger/postgres.py": "its parts are constants of the ledger's own tables",
    "ledger/stores.py": "its parts are constants of the ledger's own tables",
    "cli/proposals.py": "writes a question of the owner, which is read like every other",
    "query/binding": "says in an error what to write instead",
    "query/sql": "says in an error what to write instead",
    "query/rendering.py": "writes a question as it is shown and stored; an engine never gets it",
    "checks": "writes attacks, and questions about made-up rows",
}
_MADE_UP = {
    "engines/conformance": "made-up rows and questions, which everybody can make again",
    "checks": "made-up rows and questions, which everybody can make again",
}

RULES = (
    SourceRule("imports point down", "no room imports one above it", upward, {}),
    SourceRule(
        "no weak randomness, no data as code", "no random, secrets, pickle, marshal, eval, exec, compile", weak, {}
    ),
    SourceRule(
        "no float law in noise", "no float exp or log", float_laws,
        {
            "accounting/calibration.py": "first guesses of a search that exact comparisons decide",
            "accounting/shares.py": "guesses of a search that exact comparisons decide",
            "checks/commands/float.py": "the float noise that its attacks must find",
            "learn/moments/adassp.py": "a ridge made of what was released",
            "learn/moments/bayes.py": "probabilities made of what was released",
            "learn/losses_tabulated.py": "tables of public slopes, rounded to integers before a row is seen",
            "synth/inference": "public models, fitted to what was released",
            "synth/measured.py": "error bars of what was released",
            "textbook/release/game.py": "weights of public hypotheses",
            "synth/online/multiplicative_weights.py": "weights of public hypotheses",
        },
    ),
    SourceRule("no SQL put together from texts", "only where plans are spelled", composed_sql, _SPELLING),
    SourceRule(
        "one place opens exact values", "only mechanisms/door.py", opening,
        {
            "mechanisms/door.py": "the one door",
            "privacy/exact.py": "where it is defined",
            "checks/commands/static.py": "names what it looks for",
        },
    ),
    SourceRule(
        "nothing is released past the door", "only mechanisms and parts of them", past_the_door,
        {
            "mechanisms": "mechanisms, the door and what mechanisms are made of",
            "learn/linear/batches.py": "a mechanism, made of another one",
            "learn/linear/objective.py": "a mechanism, made of another one",
            "textbook/release/generators.py": "a mechanism, made of another one",
            "textbook/release/per_query.py": "a mechanism, made of another one",
            "privacy/reals.py": "gives back a lock after a fork",
            "checks": "looks at releases of made-up rows",
        },
    ),
    SourceRule(
        "one source of random bits", "only randomness/entropy.py", random_bits,
        {
            "randomness/entropy.py": "the one source",
            "checks/commands/rng.py": "looks whether draws end where the operating system gives nothing",
            "engines/spark/running.py": "a name for work under way; nothing is released from it",
            "engines/duckdb/spilling.py": "the key that encrypts what spills to disk; nothing is released from it",
        },
    ),
    SourceRule("no seed in what is public", "no parameter named for a seed", seeds, _MADE_UP),
    SourceRule(
        "no chance in an engine", "no random() in a text or frame of an engine", engine_chance,
        {"engines/conformance": _MADE_UP["engines/conformance"]},
    ),
)  # fmt: skip


def check(asked: CheckRequest, /) -> Outcome:
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


def breaches(rule: SourceRule, trees: Mapping[str, ast.AST]) -> list[str]:
    """Where a rule is broken."""
    return [
        f"{path}:{line}: {what} ({rule.what})" for path, tree in trees.items() for line, what in rule.broken(path, tree)
    ]


def stale_excuses(rule: SourceRule, trees: Mapping[str, ast.AST]) -> list[str]:
    """Files and folders that are excused from a rule and keep it."""
    needed = {
        rule.excuse(path) for path, tree in trees.items() if rule.excuse(path) and list(rule.breaches(path, tree))
    }
    return [entry for entry in rule.excused if entry not in needed]
