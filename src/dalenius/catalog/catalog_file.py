"""catalog.toml: the catalog as a text that people read, review and edit. Comments, order and spaces stay theirs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit

from dalenius.catalog import toml_schema as sections
from dalenius.catalog.catalog import Catalog
from dalenius.catalog.declarations import Plain, of, require_names
from dalenius.catalog.places import drafted, replace_text
from dalenius.catalog.toml_schema import SECTIONS, Misread, at
from dalenius.errors import InvalidParameter
from dalenius.ledger.names import table_name, unused

NAME = "catalog.toml"
FORMAT = 1
_HEADER = """\
# The catalog of a Dalenius database: whom it protects, what its tables may hold, and who may ask.
#
# It is read and reviewed like code; what is written here is all that analysts see of a table. Budgets and neighbours
# of populations never change. After you change the declaration of a table, update it: its rows are imported again.
# "?" stands for what is still to be filled in. What was spent is kept in the ledger, not here.

"""
_SHORT = 100
_LEDGER = re.compile("[0-9a-f]{32}")
_HEADED = ("columns", "partition")
"""What has a heading of its own, as in `[tables.visits.columns]`."""


@dataclass(frozen=True)
class Content:
    """What the file says: the ledger that it belongs to, and the catalog."""

    ledger: str
    catalog: Catalog


class CatalogFile:
    """The file of one folder.

    Guarantee: it is replaced as a whole and durably; only what was declared anew changes in it.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME

    def begin(self, ledger: str) -> None:
        """Write the file of a new database."""
        document = tomlkit.document()
        document["database"] = {"format": FORMAT, "ledger": ledger}
        replace_text(self.path, _HEADER + tomlkit.dumps(document))

    def signature(self) -> tuple[int, ...]:
        """What changes when anybody writes the file."""
        try:
            facts = self.path.stat()
        except OSError:
            raise _absent() from None
        return facts.st_ino, facts.st_mtime_ns, facts.st_size, facts.st_ctime_ns

    def read(self) -> Content:
        """What the file says; `InvalidParameter` names the place of what is wrong."""
        return content(self._text())

    def write(self, before: Catalog, after: Catalog, *, first: Callable[[], object] = lambda: None) -> None:
        """Bring the file, which says `before`, to `after`. It is written in any case, so that others notice.

        `first` is called once the new content is durable beside the file, and before it takes its place: for what can
        not be taken back.
        """
        with drafted(self.path, self._changed(before, after)) as take:
            first()
            take()

    def _changed(self, before: Catalog, after: Catalog) -> str:
        text = self._text()
        old, new = sections.plain(before), sections.plain(after)
        if content(text).catalog != before:
            raise InvalidParameter(NAME, "changed just now", allowed="left unchanged meanwhile", hint="Try again.")
        if (old, before.drafts) == (new, after.drafts):
            return text
        document = tomlkit.parse(text)
        for kind in SECTIONS:
            _bring(document, kind, old[kind], new[kind])
        for name in before.drafts:
            if name not in after.drafts and name not in after.tables:
                del document["tables"][name]
        return _checked(document, after)

    def write_draft(self, name: str, facts: Plain) -> None:
        """Add a table that is not declared in full."""
        text = self._text()
        known = content(text).catalog
        unused("table", table_name(name), [*known.tables, *known.drafts])
        document = tomlkit.parse(text)
        _bring(document, "tables", {}, {name: facts})
        written = _rendered(document)
        content(written)
        replace_text(self.path, written)

    def _text(self) -> str:
        try:
            return self.path.read_bytes().decode()
        except UnicodeDecodeError:
            raise InvalidParameter(NAME, "not readable", allowed="written in UTF-8") from None
        except OSError:
            raise _absent() from None


def _absent() -> InvalidParameter:
    return InvalidParameter(NAME, "absent", allowed="in the folder, and readable", hint="Put it back.")


def _rendered(document: tomlkit.TOMLDocument) -> str:
    return tomlkit.dumps(document).rstrip("\n") + "\n"


def _checked(document: tomlkit.TOMLDocument, expected: Catalog) -> str:
    """The text of a document. It is read first: one that says something else than was declared is never written."""
    text = _rendered(document)
    if content(text).catalog != expected:
        raise InvalidParameter(NAME, "written in an unusual way", allowed="in a form that can be changed from here",
                               hint="Make this change in the file itself.")  # fmt: skip
    return text


def content(text: str) -> Content:
    """What a text of a catalog says."""
    try:
        facts = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidParameter(NAME, "not readable", allowed="written in TOML", hint=f"{error}.") from None
    except (ValueError, RecursionError):  # what Python itself does not read
        raise InvalidParameter(
            NAME, "not readable", allowed="nested less deeply, with numbers of at most 4,200 digits"
        ) from None
    try:
        _require_format(facts)
        return Content(facts["database"]["ledger"], sections.catalog(facts))
    except Misread as found:
        problem = found.problem
        raise InvalidParameter(
            f"{problem.name} in {_place(text, found)}", problem.given, allowed=problem.allowed, hint=problem.hint
        ) from None


def _require_format(facts: Plain) -> None:
    with at():
        require_names(facts, ("database", *SECTIONS), ("database",))
    with at("database"):
        names = ("format", "ledger")
        require_names(of(dict, database=facts["database"]), names, names)
        name = of(str, ledger=facts["database"]["ledger"])
        if not _LEDGER.fullmatch(name):  # a part of the path of its mark
            raise InvalidParameter("ledger", name, allowed="32 hexadecimal digits, as it was made")
        if facts["database"]["format"] != FORMAT:
            raise InvalidParameter("format", facts["database"]["format"], allowed=f"{FORMAT}, which is read here")


# ---- places


def _place(text: str, found: Misread) -> str:
    problem = found.problem
    inner = problem.given if problem.name == "name" else problem.name
    deeper = (*found.path, inner) if isinstance(inner, str) else found.path
    line = _line(text, deeper) or _line(text, found.path)
    where = ".".join(found.path)
    return f"{NAME}" + (f", line {line}" if line else "") + (f", {where}" if where else "")


def _line(text: str, path: tuple[str, ...]) -> int | None:
    """The line that a name stands in: the end of the shortest beginning of the file that has it."""
    lines = text.splitlines(keepends=True)
    for end in range(1, len(lines) + 1):
        try:
            facts: Any = tomllib.loads("".join(lines[:end]))
        except tomllib.TOMLDecodeError:
            continue
        for name in path:
            facts = facts.get(name) if isinstance(facts, Mapping) else None
        if facts is not None and path:
            return end
    return None


# ---- changes


def _bring(document: MutableMapping[str, Any], kind: str, old: Mapping[str, Plain], new: Mapping[str, Plain]) -> None:
    """Change the entries of a section that are not as they were."""
    for name in old:
        if name not in new:
            del document[kind][name]
    changed = {name: facts for name, facts in new.items() if old.get(name) != facts}
    if changed and kind not in document:
        document[kind] = tomlkit.table(is_super_table=True)
    for name, facts in changed.items():
        if name in document[kind]:
            _change(document[kind][name], old.get(name), facts)
        else:
            document[kind].append(name, _entry(facts))


def _change(entry: MutableMapping[str, Any], old: Plain | None, new: Plain) -> None:
    """Change only the names whose values are new; without an `old` form everything else goes."""
    for name in list(entry):
        if name not in new:
            del entry[name]
    for name, value in new.items():
        was = None if old is None else old.get(name)
        if was == value and name in entry:
            continue
        if isinstance(value, dict) and isinstance(entry.get(name), MutableMapping):
            _change(entry[name], was if isinstance(was, dict) else None, value)
            if list(entry[name]) != list(value):  # the order of columns counts
                _order(entry[name], value)
        elif name in entry:
            entry[name] = _value(value)
        else:
            _append(entry, name, _headed(value) if name in _HEADED else _value(value))


def _order(entry: MutableMapping[str, Any], new: Plain) -> None:
    for name in new:
        entry[name] = entry.pop(name)


def _append(entry: MutableMapping[str, Any], name: str, value: Any) -> None:
    """A new name goes before the columns of a table, which have a heading of their own."""
    later = {other: entry.pop(other) for other in _HEADED if other in entry and other != name}
    entry[name] = value
    entry.update(later)


def _entry(facts: Plain) -> tomlkit.items.Table:
    """A new entry, with an empty line after it."""
    entry = tomlkit.table()
    for name, value in facts.items():
        entry.append(name, _headed(value) if name in _HEADED else _value(value))
    if not any(name in _HEADED for name in facts):
        entry.add(tomlkit.nl())
    return entry


def _headed(facts: Plain) -> tomlkit.items.Table:
    """A part of an entry with a heading of its own, and an empty line after it."""
    part = tomlkit.table()
    for name, value in facts.items():
        part.append(name, _value(value))
    part.add(tomlkit.nl())
    return part


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        inline = tomlkit.inline_table()
        for name, inner in value.items():
            inline.append(name, _value(inner))
        return inline
    if isinstance(value, list):
        listed = tomlkit.array()
        listed.extend(value)
        return listed.multiline(len(str(value)) > _SHORT and not any(isinstance(each, dict) for each in value))
    return value
