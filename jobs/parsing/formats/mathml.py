"""Formulas of web pages as text: their TeX where it is given, else MathML in one line."""

from __future__ import annotations

from lxml import etree

__all__ = ["math_text"]

_DEEPEST = 50
_TEX = ("application/x-tex", "tex", "latex", "application/x-latex", "text/x-tex")
_JOINED = {"mfrac": "/", "msup": "^", "msub": "_", "mover": "^", "munder": "_"}
_TWICE = {"msubsup": ("_", "^"), "munderover": ("_", "^")}


def math_text(element: etree._Element) -> str:
    r"""Return a ``math`` element as ``$TeX$``, or in one line such as ``x=(1)/(2)``."""
    for note in element.iter("{*}annotation"):
        if (note.get("encoding") or "").lower() in _TEX and (note.text or "").strip():
            return f"${' '.join((note.text or '').split())}$"
    tex = " ".join((element.get("alttext") or "").split())
    return f"${tex}$" if tex else _line(element, 0)


def _line(element: etree._Element, depth: int) -> str:
    name = etree.QName(element).localname if isinstance(element.tag, str) else ""
    if name in ("annotation", "annotation-xml", ""):
        return ""
    if depth > _DEEPEST:
        return "".join(element.itertext())
    parts = [_line(child, depth + 1) for child in element]
    if name in _JOINED and len(parts) == 2:  # noqa: PLR2004 - base and script, or a fraction
        return _JOINED[name].join(map(_grouped, parts))
    if name in _TWICE and len(parts) == 3:  # noqa: PLR2004 - base and two scripts
        below, above = _TWICE[name]
        return f"{_grouped(parts[0])}{below}{_grouped(parts[1])}{above}{_grouped(parts[2])}"
    if name == "msqrt":
        return f"sqrt({''.join(parts)})"
    if name == "mtr":
        return " ".join(parts) + "; "
    return " ".join((element.text or "").split()) + "".join(parts)


def _grouped(text: str) -> str:
    return text if len(text) <= 1 or text.isalnum() else f"({text})"
