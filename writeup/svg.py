"""Matplotlib's SVG made fit for a page: no inline style, real colours by class, marks, links.

Matplotlib writes `style` attributes, which a strict content security policy ignores, and
colours, which cannot follow light, dark and print. Here each property becomes a
presentation attribute, and each stand-in colour (an *ink*) a class that the stylesheet
fills. Texts are drawn clean, so that widths are those a reader sees; their marked forms
are put in afterwards by the id of the artist, never by what the text says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.etree import ElementTree as ET

# Drawn with, then replaced by the classes `f-<ink>` (fill) and `s-<ink>` (stroke).
INKS: Mapping[str, str] = {
    "ink": "#010101",
    "muted": "#010102",
    "grid": "#010103",
    "paper": "#010104",
    "roof": "#010105",
    "band": "#010106",
    "baseline": "#010107",
    "step": "#010108",
    "attempt": "#010109",
    "control": "#010110",
    "copy": "#010111",
}
_INK_OF = {colour: name for name, colour in INKS.items()}

_PROPERTIES = frozenset(
    (
        *("fill", "fill-opacity", "opacity"),
        *("stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-dashoffset"),
        *("stroke-linecap", "stroke-linejoin", "stroke-miterlimit"),
        *("text-anchor", "font-size", "font-weight", "font-style"),
    )
)
# The page's own typeface is used; Matplotlib's only measured the text.
_DROPPED = frozenset(("font-family", "font-stretch", "font-variant"))

_DECIMAL = re.compile(r"-?\d+\.\d+")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_GEOMETRY = ("d", "x", "y", "width", "height", "transform", "points", "stroke-dasharray")


@dataclass(frozen=True, slots=True)
class Anchor:
    """Where a mark leads, and its accessible name (marked)."""

    href: str
    label: str


@dataclass(slots=True)
class Dress:
    """What to put on the artists of a drawing, by their gid."""

    words: dict[str, str] = field(default_factory=dict)
    anchors: dict[str, Anchor] = field(default_factory=dict)
    quiet: set[str] = field(default_factory=set)


def dress(drawing: bytes, put: Dress, *, prefix: str, title: str, summary: str) -> str:
    """`drawing`, as Matplotlib wrote it, as inline SVG whose ids all start with `prefix`.

    title and summary are the alternative text, marked. Raises ValueError for a style
    property or colour that has no place on a page, and KeyError for a gid that is missing.
    """
    # Our own drawing, made in this process: no hostile XML can reach the parser.
    root = ET.fromstring(drawing)  # noqa: S314
    _forget_namespaces(root)
    for element in root.iter():
        _unstyle(element)
        _round(element)
    groups = {g.get("id", ""): g for g in root.iter("g")}
    for gid, text in put.words.items():
        _set_text(groups[gid], text)
    for gid in put.quiet:
        groups[gid].set("aria-hidden", "true")
    _link(root, put.anchors)
    _rename_ids(root, prefix)
    _describe(root, prefix=prefix, title=title, summary=summary)
    return ET.tostring(root, encoding="unicode")


def _forget_namespaces(root: ET.Element) -> None:
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for name in [name for name in element.attrib if "}" in name]:
            element.set(name.rpartition("}")[2], element.attrib.pop(name))
        for part in list(element):
            if part.tag.rpartition("}")[2] in ("metadata", "style"):
                element.remove(part)
        # Only indentation stands between Matplotlib's elements.
        element.tail = None
        if element.text is not None and not element.text.strip():
            element.text = None


def _unstyle(element: ET.Element) -> None:
    style = element.attrib.pop("style", "")
    classes = []
    for declaration in filter(None, (part.strip() for part in style.split(";"))):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name == "font":  # the shorthand of older releases: only its size is wanted
            name, value = "font-size", next(w for w in value.split() if w.endswith("px"))
        if name in _DROPPED:
            continue
        if name not in _PROPERTIES:
            raise ValueError(f"the SVG style property {name!r} has no presentation attribute here")
        if name in ("fill", "stroke") and value.startswith("#"):
            classes.append(f"{name[0]}-{_ink(value)}")
        else:
            element.set(name, value.removesuffix("px"))
    if classes:
        element.set("class", " ".join(classes))


def _ink(colour: str) -> str:
    if colour not in _INK_OF:
        raise ValueError(f"the colour {colour} is not an ink, so it cannot follow dark and print")
    return _INK_OF[colour]


def _round(element: ET.Element) -> None:
    """Two decimals of a point are finer than any screen, and the same on every machine."""
    for name in _GEOMETRY:
        if name in element.attrib:
            text = _DECIMAL.sub(
                lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), element.attrib[name]
            )
            element.set(name, " ".join(text.split()))
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]


def _set_text(group: ET.Element, text: str) -> None:
    target = next(group.iter("text"))
    for part in list(target):
        target.remove(part)
    target.text = text


def _link(root: ET.Element, anchors: Mapping[str, Anchor]) -> None:
    parents = {child: parent for parent in root.iter() for child in parent}
    groups = {g.get("id", ""): g for g in root.iter("g")}
    for gid, anchor in anchors.items():
        group = groups[gid]
        parent = parents[group]
        link = ET.Element("a", {"href": anchor.href, "class": "mark", "aria-label": anchor.label})
        ET.SubElement(link, "title").text = anchor.label
        parent.insert(list(parent).index(group), link)
        parent.remove(group)
        link.append(group)
        parents[group] = link


def _rename_ids(root: ET.Element, prefix: str) -> None:
    """Ids that something refers to get the prefix; the others are dropped."""
    used = {
        found for e in root.iter() for v in e.attrib.values() for found in _REFERENCE.findall(v)
    }
    used |= {e.get("href", "")[1:] for e in root.iter("use")}
    for element in root.iter():
        own = element.attrib.pop("id", None)
        if own in used:
            element.set("id", f"{prefix}-{own}")
        for name, value in element.attrib.items():
            element.set(name, _REFERENCE.sub(rf"url(#{prefix}-\1)", value))
        if element.tag == "use":
            element.set("href", f"#{prefix}-{element.get('href', '')[1:]}")


def _describe(root: ET.Element, *, prefix: str, title: str, summary: str) -> None:
    view = root.get("viewBox", "")
    root.attrib.clear()
    # A group and not an image: an image may hold no links.
    root.attrib.update(
        {
            "class": "plot",
            "viewBox": view,
            "role": "group",
            "aria-labelledby": f"{prefix}-title",
            "aria-describedby": f"{prefix}-desc",
            "stroke-linejoin": "round",
            "stroke-linecap": "butt",
        }
    )
    for index, (tag, name, text) in enumerate(
        (("title", "title", title), ("desc", "desc", summary))
    ):
        element = ET.Element(tag, {"id": f"{prefix}-{name}"})
        element.text = text
        root.insert(index, element)
