"""What a process of a bench does that serves another: a line of JSON asks, a line answers.

Only the standard library is needed, so that any interpreter can serve.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["keep_answers_apart", "serve", "versions"]


def keep_answers_apart() -> int:
    """Send what libraries print to standard error; return where the answers go."""
    answers = os.dup(1)
    os.dup2(2, 1)
    return answers


def serve(answers: int, answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Answer requests until there are no more; one for ``versions`` is answered here."""
    with os.fdopen(answers, "w", encoding="utf-8") as lines:
        for line in sys.stdin:
            request = json.loads(line)
            # Whatever a foreign library raises, it costs that request only.
            try:
                asked = request.get("versions")
                found = answer(request) if asked is None else versions(asked)
            except Exception as error:  # noqa: BLE001
                found = {"error": f"{type(error).__name__}: {error}"}
            lines.write(json.dumps(found) + "\n")
            lines.flush()


def versions(names: Sequence[str]) -> dict[str, str]:
    """Return the versions of the packages that are there."""
    found = {}
    for name in names:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found
