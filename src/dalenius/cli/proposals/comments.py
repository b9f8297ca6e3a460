"""Comments in a catalog: where an estimate came from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import tomlkit

from dalenius.curator.folder.files import replace_text
from dalenius.curator.folder.folder import Folder


def remark(path: Path, table: str, remarks: Mapping[str, str]) -> None:
    """Put a comment behind columns of a table in catalog.toml."""
    folder = Folder(path)
    with folder.editing():
        document = tomlkit.parse(folder.file.path.read_text(encoding="utf-8"))
        columns = document["tables"][table]["columns"]
        for name, text in remarks.items():
            columns[name].comment(text)
        replace_text(folder.file.path, tomlkit.dumps(document))
