"""The rooms keep their order: imports point down, and nothing weak or unsafe is brought in."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

from dalenius.checks.commands.static import FLOORS, RULES, SourceRule, breaches, check, parsed, sources, stale_excuses
from dalenius.checks.outcomes import CheckRequest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sources()
TREES = {path: parsed(text) for path, text in SOURCES.items()}
NAMES = {rule.what: rule for rule in RULES}
BAD = {
    "imports point down": [
        ("mechanisms/x.py", "from dalenius.cli import demo"),
        ("audit/x.py", "import dalenius.cli.main"),
        ("audit/x.py", "x = import_module('dalenius.cli.main')"),
        ("query/x.py", "from dalenius.checks.sampling.sampling import y"),
        ("privacy/x.py", "from dalenius.accounting.budget import Budget"),
    ],
    "no weak randomness, no data as code": [
        ("query/x.py", "import numpy.random"),
        ("query/x.py", "from random import random"),
        ("query/x.py", "from numpy import random"),
        ("query/x.py", "x = np.random.laplace()"),
        ("query/x.py", "import secrets"),
        ("query/x.py", "import pickle"),
        ("query/x.py", "import marshal"),
        ("query/x.py", "import cloudpickle"),
        ("query/x.py", "import numpy as xp\nx = xp.random.laplace()"),
        ("query/x.py", "x = np.load('y', allow_pickle=True)"),
        ("query/x.py", "x = pd.read_pickle('y')"),
        ("query/x.py", "x = torch.load('y')"),
        ("query/x.py", "eval('1')"),
        ("query/x.py", "exec('1')"),
        ("query/x.py", "compile('1', '', 'eval')"),
        ("query/x.py", "f = eval\nf('1')"),
        ("query/x.py", "builtins.eval('1')"),
        ("query/x.py", "import builtins as b\nb.exec('1')"),
        ("query/x.py", "from builtins import eval as f"),
        ("query/x.py", "x = import_module('random')"),
        ("query/x.py", "x = importlib.import_module(name='numpy.random')"),
        ("query/x.py", "x = __import__('pickle')"),
        ("query/x.py", "x = __import__(name)"),
        ("query/x.py", "x = statistics.NormalDist().samples(5)"),
        ("query/x.py", "from statistics import NormalDist\nx = NormalDist().samples(5)"),
        ("query/x.py", "x = torch.randn(5)"),
        ("query/x.py", "import torch as t\nx = t.normal(0, 1, (5,))"),
    ],
    "no float law in noise": [
        ("mechanisms/x.py", "math.exp(1)"),
        ("mechanisms/x.py", "np.log(2)"),
        ("mechanisms/x.py", "import math as m\nm.exp(1)"),
        ("mechanisms/x.py", "import numpy as xp\nxp.log(2)"),
        ("mechanisms/x.py", "from numpy import exp"),
        ("mechanisms/x.py", "from math import log"),
        ("mechanisms/x.py", "from scipy.stats import norm"),
        ("mechanisms/x.py", "from scipy import stats"),
        ("mechanisms/x.py", "import scipy.stats"),
    ],
    "no SQL put together from texts": [
        ("curator/x.py", "c.execute(f'SELECT * FROM {name}')"),
        ("curator/x.py", "c.execute('SELECT * FROM ' + name)"),
        ("curator/x.py", "c.execute('SELECT * FROM %s' % name)"),
        ("curator/x.py", "c.execute('SELECT * FROM {}'.format(name))"),
        ("server/x.py", "ALL = 'SELECT * FROM t WHERE x = '\nc.execute(ALL + name)"),
        ("server/x.py", "ALL = 'DELETE FROM {}'\nc.execute(ALL.format(name))"),
        ("engines/x.py", "c.execute(f'DROP TABLE {name}')"),
        ("curator/x.py", "c.execute(f'select * from {name}')"),
        ("curator/x.py", "c.execute(f'delete from {name}')"),
        ("curator/x.py", "text = 'SELECT 1 FROM t'\ntext += name"),
        ("curator/x.py", "text = ''\ntext += 'WHERE x = '"),
        ("curator/x.py", "c.execute(' UNION ALL '.join(names))"),
        ("curator/x.py", "c.execute(' '.join(['SELECT * FROM', name]))"),
        ("curator/x.py", "c.execute('SELECT * FROM t'.replace('t', name))"),
        ("curator/x.py", "c.execute(f'select {column} from {name}')"),
        ("curator/x.py", "c.execute('select ' + column + ' from ' + name)"),
        ("curator/x.py", "c.execute(' '.join(['select', column, 'from', name]))"),
        ("curator/x.py", "parts = ['SELECT * FROM', name]\nc.execute(' '.join(parts))"),
        ("curator/x.py", "parts = []\nparts.append('SELECT * FROM')\nc.execute(' '.join(parts))"),
        ("curator/x.py", "c.execute('SELECT * FROM {t}'.format_map(names))"),
    ],
    "one place opens exact values": [
        ("curator/x.py", "from dalenius.privacy.exact import unseal"),
        ("curator/x.py", "value = exact.unseal(sealed)"),
        ("query/x.py", "value = object.__getattribute__(sealed, '_Exact__value')"),
        ("curator/x.py", "door._witnesses.append(look)"),
        ("audit/x.py", "from dalenius.mechanisms.door import _witnesses"),
        ("curator/x.py", "exact.map(box.append, sensitivity=1)"),
        ("curator/x.py", "exact.map(lambda value: box.update(x=value) or value, sensitivity=1)"),
    ],
    "nothing is released past the door": [
        ("curator/x.py", "x = DiscreteLaplace(1).release(value, entropy)"),
        ("query/x.py", "x = noise.release(value, entropy=entropy)"),
        ("curator/x.py", "r = mechanism.release\nr(value, entropy)"),
        ("curator/x.py", "x = list(map(mechanism.release, values, sources))"),
        ("curator/x.py", "x = mechanism.release(*both)"),
        ("curator/x.py", "x = mechanism.release(value, allowance)"),
        ("curator/x.py", "x = mechanism.release(value, entropy=allowance)"),
        ("curator/x.py", "x = getattr(mechanism, 'release')(value, entropy)"),
        ("curator/x.py", "with witnessed(look): pass"),
        ("curator/x.py", "from dalenius.mechanisms.door import witnessed"),
    ],
    "one source of random bits": [
        ("mechanisms/x.py", "import os\nx = os.urandom(8)"),
        ("mechanisms/x.py", "from os import urandom"),
        ("curator/x.py", "x = uuid.uuid4()"),
        ("curator/x.py", "import os as o\nx = o.urandom(8)"),
        ("curator/x.py", "from os import urandom as bits"),
        ("curator/x.py", "from ssl import RAND_bytes"),
    ],
    "no seed in what is public": [
        ("mechanisms/x.py", "def release(value, seed=None): ..."),
        ("curator/x.py", "class A:\n    def run(self, *, random_state): ..."),
        ("server/x.py", "async def ask(rng): ..."),
        ("server/x.py", "def ask(random_seed): ..."),
        ("mechanisms/x.py", "class Noise:\n    seed: int = 0"),
    ],
    "no chance in an engine": [
        ("engines/duckdb/x.py", "x = 'SELECT random() FROM t'"),
        ("engines/duckdb/x.py", "x = 'SELECT * FROM t TABLESAMPLE 10%'"),
        ("engines/duckdb/x.py", "x = 'SELECT * FROM t USING SAMPLE 5'"),
        ("engines/spark/x.py", "x = F.rand()"),
        ("engines/spark/x.py", "x = frame.sample(0.1)"),
    ],
}
"""What each rule must notice."""


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.what)
def test_the_source_keeps_every_rule(rule: SourceRule) -> None:
    assert breaches(rule, TREES) == []


@pytest.mark.textbook("S2.2")
def test_no_float_logarithm_or_exponential_is_taken() -> None:
    assert breaches(NAMES["no float law in noise"], TREES) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.what)
def test_no_file_is_excused_that_keeps_the_rule(rule: SourceRule) -> None:
    assert stale_excuses(rule, TREES) == []


@pytest.mark.parametrize(("what", "path", "bad"), [(what, *bad) for what, every in BAD.items() for bad in every])
def test_every_rule_notices_what_it_looks_for(what: str, path: str, bad: str) -> None:
    assert NAMES[what].broken(path, ast.parse(bad)) != []


def test_every_rule_has_a_twin_and_a_reason_for_each_excuse() -> None:
    assert set(BAD) == set(NAMES)
    assert all(len(reason.split()) >= 3 for rule in RULES for reason in rule.excused.values())


def test_every_room_has_a_floor() -> None:
    rooms = {path.split("/")[0].removesuffix(".py") for path in TREES}
    assert rooms <= set().union(*FLOORS)


def test_the_page_lists_the_rooms_from_the_ground_up() -> None:
    rooms = {path.split("/")[0].removesuffix(".py") for path in TREES} - {"__init__", "__main__"}
    page = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| (`[a-z]+`(?:, `[a-z]+`)*) \|", page, re.MULTILINE)
    listed = [set(re.findall(r"\w+", row)) for row in rows]
    assert listed == [floor & rooms for floor in FLOORS if floor & rooms]


def foreign(tree: ast.AST) -> set[str]:
    """The packages of others that a file imports."""
    named = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    named += [each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names]
    return {name.split(".")[0] for name in named} - {"dalenius", *sys.stdlib_module_names}


def declared() -> set[str]:
    """The modules of the packages that are asked for, always or by an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *(name for extra in project["optional-dependencies"].values() for name in extra)]
    names = {re.split(r"[\[<>=]", each)[0].lower() for each in asked}
    return names | {MODULES[name] for name in names & set(MODULES)}


MODULES = {"python-flint": "flint", "scikit-learn": "sklearn", "dp-accounting": "dp_accounting", "z3-solver": "z3"}


def test_nothing_is_imported_that_is_not_declared() -> None:
    assert {name for tree in TREES.values() for name in foreign(tree)} <= declared()


def test_the_check_above_notices_a_package_that_is_not_declared() -> None:
    assert not foreign(ast.parse("import os\nimport leftpad.more\nfrom dalenius import x")) <= declared()


def test_the_check_says_the_same() -> None:
    outcome = check(CheckRequest())
    assert outcome.passed
    assert [figure.tried for figure in outcome.figures] == [len(TREES)] * len(RULES)


def test_files_stay_readable() -> None:
    assert [path for path, text in SOURCES.items() if len(text.splitlines()) > 600] == []
