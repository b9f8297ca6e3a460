"""The house keeps its shape: how large it may grow, which room stands on which, and which words it no longer uses."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations

import pytest

import dalenius
from dalenius.checks.commands.static import FLOORS, parsed, sources

TREES: Mapping[str, ast.AST] = {path: parsed(text) for path, text in sources().items()}
MOST_FILES, MOST_IN_A_FOLDER, MOST_NAMES, MOST_SHARED = 480, 14, 40, 15

ORDER = (
    "errors < privacy < {randomness, accounting, query} < sandbox < mechanisms < {measuring, engines} < ledger < "
    "catalog < session < tabular < synth < {learn, stream, local, games} < textbook < server < console < "
    "{attacks, verify, checks} < cli"
)
"""The order of the design. Floors may tell rooms of one set apart."""

MOVED = {
    "Asked": "session/query.py:Query",
    "RemoteAsked": "server/client/query.py:RemoteQuery",
    "Asker": "session/curator.py:Principal",
    "Payable": "session/executor.py:Purchase",
    "Door": "session/executor.py:Executor",
    "Desk": "server/workers/handler.py:TaskHandler",
    "Most": "query/tables.py:ContributionBounds",
    "Purse": "mechanisms/budget_parts.py:BudgetPart",
    "Rectangle": "accounting/budget.py:RenyiFilter",
    "Tally": "accounting/allowance.py:BudgetCounter",
    "Amount": "accounting/amounts.py:Charge",
    "Carrier": "query/rows.py:RowSource",
    "Carried": "sandbox/functions.py:ShippedFunction",
    "People": "tabular/counts.py:SealedCounts",
    "Crowd": "tabular/counts.py:CellCounts",
    "Axis": "tabular/columns.py:BinnedColumn",
    "places": "tabular/columns.py:BinnedColumn.indices",
    "Grid": "tabular/domains.py:CellDomain",
    "Look": "query/plan/passes.py:RunPass",
    "Few": "query/plan/relations.py:LimitPerUnit",
    "Via": "query/tables.py:ForeignKey",
    "Place": "query/tables.py:TableLocation",
    "Stay": "engines/addresses.py:RemoteSource",
    "spelled": "engines/sql/passes.py:compile_sql",
    "told": "measuring/explain.py:describe",
    "shown": "checks/replay/queries.py:describe",
}
"""Each word that is no longer used, and where stands what is called otherwise now."""
ALSO = ("server/schedule.py:ReplySchedule", "ledger/accounts.py:AccountCharge")
"""The second meaning of a word that had two, and of a word that stays with another one: `Grid`, `Charge`."""
OLD_MODULES = {"bends": "losses_piecewise", "slopes": "losses_tabulated", "sections": "toml_schema"}


def defined(tree: ast.AST, within: str = "") -> Iterator[str]:
    """The classes, functions and methods of a file, and the aliases of its own level, all by their whole names."""
    for node in getattr(tree, "body", ()):
        if isinstance(node, ast.ClassDef):
            yield within + node.name
            yield from defined(node, f"{within}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield within + node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not within:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.ImportFrom | ast.Import):
            yield from (alias.asname for alias in node.names if alias.asname and alias.asname != alias.name)


def left(trees: Mapping[str, ast.AST]) -> list[str]:
    """Where an old word still names something."""
    return [f"{path}: {name}" for path, tree in trees.items() for name in defined(tree) if name.split(".")[-1] in MOVED]


def old_modules(paths: Mapping[str, ast.AST]) -> list[str]:
    return [path for path in paths if path.split("/")[-1].removesuffix(".py") in OLD_MODULES]


def shared_classes(trees: Mapping[str, ast.AST]) -> set[str]:
    """Names of classes that stand in more than one module."""
    parts = [node for tree in trees.values() for node in getattr(tree, "body", ())]
    found = Counter(node.name for node in parts if isinstance(node, ast.ClassDef))
    return {name for name, times in found.items() if times > 1}


def crowded(paths: Mapping[str, object]) -> list[str]:
    """Folders with too many files."""
    sizes: dict[str, int] = defaultdict(int)
    for path in paths:
        sizes[path.rpartition("/")[0]] += 1
    return [folder for folder, size in sizes.items() if size > MOST_IN_A_FOLDER]


def out_of_order(floors: tuple[set[str], ...], order: str) -> list[tuple[str, str]]:
    """Rooms that stand the other way round than in the design, or next to each other where one should be above."""
    level = {room: number for number, rooms in enumerate(floors) for room in rooms}
    steps = [[room.strip() for room in step.strip(" {}").split(",")] for step in order.split("<")]
    pairs = [(low, high) for lower, upper in combinations(steps, 2) for low in lower for high in upper]
    return [(low, high) for low, high in pairs if level[low] >= level[high]]


def test_there_are_few_files_and_few_in_a_folder() -> None:
    assert len(TREES) <= MOST_FILES
    assert crowded(TREES) == []


def test_the_test_above_notices_a_crowded_folder() -> None:
    assert crowded({f"query/{number}.py": None for number in range(MOST_IN_A_FOLDER + 1)}) == ["query"]


def test_the_front_page_has_few_names_and_all_of_them_load() -> None:
    assert len(dalenius.__all__) <= MOST_NAMES
    assert set(dalenius.__all__) <= set(dir(dalenius))
    assert all(getattr(dalenius, name) is not None for name in dalenius.__all__)


@pytest.mark.parametrize("name", ["correlation", "covariance", "variance"])
def test_what_few_need_stands_in_one_place_alone(name: str) -> None:
    assert callable(getattr(dalenius.aggregates, name))
    assert not hasattr(dalenius, name)


def test_a_name_means_one_class() -> None:
    assert len(shared_classes(TREES)) <= MOST_SHARED
    assert {name for name in shared_classes(TREES) if not name.startswith("_")} == set()


def test_the_test_above_notices_a_name_of_two_classes() -> None:
    trees = {"query/x.py": ast.parse("class Thing: ..."), "learn/x.py": ast.parse("class Thing: ...")}
    assert shared_classes(trees) == {"Thing"}


def test_the_floors_are_in_the_order_of_the_design() -> None:
    assert out_of_order(FLOORS, ORDER) == []


@pytest.mark.parametrize("wrong", [ORDER.replace("sandbox < ", "") + " < sandbox", "cli < errors"])
def test_the_test_above_notices_another_order(wrong: str) -> None:
    assert out_of_order(FLOORS, wrong) != []


@pytest.mark.parametrize("place", [*MOVED.values(), *ALSO])
def test_what_has_a_new_name_stands_at_its_place(place: str) -> None:
    path, _, name = place.partition(":")
    assert name in set(defined(TREES[path]))


@pytest.mark.parametrize("module", OLD_MODULES.values())
def test_modules_have_their_new_names(module: str) -> None:
    assert [path for path in TREES if path.endswith(f"/{module}.py")] != []


def test_no_old_word_is_left() -> None:
    assert left(TREES) == []
    assert old_modules(TREES) == []


@pytest.mark.parametrize(
    "bad",
    [
        "class Asked: ...", "def spelled(): ...", "Carrier = RowSource", "Look: TypeAlias = 'RunPass'",
        "class A:\n    def places(self): ...", "from dalenius.query.tables import ContributionBounds as Most",
    ],
)  # fmt: skip
def test_the_test_above_notices_an_old_word(bad: str) -> None:
    assert left({"query/x.py": ast.parse(bad)}) != []


def test_and_an_old_module() -> None:
    assert old_modules({"learn/bends.py": ast.parse("")}) == ["learn/bends.py"]
