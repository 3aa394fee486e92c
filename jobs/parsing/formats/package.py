"""The parts of an Office package by their relationships (ECMA-376 part 2, 6.5)."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from lxml import etree

from chunking.errors import DocumentError
from jobs.parsing.formats.archive import parse_part, replace_entities

__all__ = ["Package", "Relationship"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relationship:
    """One target of a part: ``kind`` is the last step of its type, ``target`` a member."""

    kind: str
    target: str


class Package:
    """Members of a container, each parsed when it is asked for."""

    def __init__(self, members: Mapping[str, bytes], warn: Callable[[str], None]) -> None:
        self._members = members
        self._warn = warn

    def main_part(self, default: str) -> str:
        """Return the name of the main part.

        Raises:
            DocumentError: ``corrupt``; there is none.
        """
        for found in self.relationships("").values():
            if found.kind == "officeDocument" and found.target in self._members:
                return found.target
        if default not in self._members:
            msg = f"the package has no main part {default}"
            raise DocumentError(msg, kind="corrupt", stage="parse")
        return default

    def relationships(self, part: str) -> dict[str, Relationship]:
        """Return the relationships of a part (``""``: of the package) by their ids."""
        folder, name = posixpath.split(part)
        root = self.optional(posixpath.join(folder, "_rels", f"{name}.rels"))
        found = {}
        for element in root.iter("{*}Relationship") if root is not None else ():
            if element.get("TargetMode") == "External":
                continue
            target = unquote((element.get("Target") or "").partition("#")[0])
            found[element.get("Id") or ""] = Relationship(
                kind=(element.get("Type") or "").rpartition("/")[2],
                target=posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/"),
            )
        return found

    def root(self, name: str) -> etree._Element:
        """Return the root of a part; its entities become characters or go with a warning.

        Raises:
            DocumentError: ``corrupt``; it is absent or not well-formed.
        """
        if name not in self._members:
            msg = f"the package lacks its part {name}"
            raise DocumentError(msg, kind="corrupt", stage="parse")
        root = parse_part(self._members[name], name)
        for entity in replace_entities(root):
            self._warn(f"the entity &{entity}; was not resolved")
        return root

    def optional(self, name: str) -> etree._Element | None:
        """Return the root of a part that may be absent or, with a warning, damaged."""
        if name not in self._members:
            return None
        try:
            return self.root(name)
        except DocumentError as error:
            self._warn(f"a part was left out: {error}")
            return None

    def data(self, name: str) -> bytes | None:
        """Return the bytes of a member, or None."""
        return self._members.get(name)
