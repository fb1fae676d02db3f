"""The table of elements and attributes in a format's documentation, made from its XML Schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lxml import etree

_XS = "{http://www.w3.org/2001/XMLSchema}"
_BUILT_IN = {"xs:string": "text", "xs:token": "text"}


class SchemaRow(NamedTuple):
    """One element or attribute.

    Attributes:
        path: Elements from the root, separated by /; the name of an attribute begins with @.
        occurs: Number of occurrences in its parent, as text.
        kind: Type of its value; empty for an element that has only elements.
        words: Description of its purpose.
    """

    path: str
    occurs: str
    kind: str
    words: str


def read_schema(content: bytes) -> list[SchemaRow]:
    """Return a row for each element and attribute that the first element of the schema can have, in schema order."""
    schema = etree.fromstring(content)
    root = schema.find(f"{_XS}element")
    return [] if root is None else list(_element(schema, root, ""))


def render_table(rows: list[SchemaRow]) -> str:
    """Return the rows as a Markdown table."""
    lines = ["| element or attribute | occurs | type | purpose |", "| --- | --- | --- | --- |"]
    lines += [f"| `{row.path}` | {row.occurs} | {row.kind} | {row.words} |" for row in rows]
    return "\n".join(lines) + "\n"


def _element(schema: etree._Element, element: etree._Element, parent: str) -> Iterator[SchemaRow]:
    if reference := element.get("ref"):
        element = _named(schema, "element", reference)
    path = f"{parent}/{element.get('name')}".lstrip("/")
    kind = _kind(schema, element)
    definition = _definition(schema, element)
    yield SchemaRow(path, _text(element, "appinfo"), kind, _text(element, "documentation"))
    if definition is None:
        return
    for attribute in definition.iter(f"{_XS}attribute"):
        if _owner(attribute) is definition:
            yield SchemaRow(
                f"{path}/@{attribute.get('name')}",
                _text(attribute, "appinfo"),
                _type_words(schema, attribute.get("type", "")),
                _text(attribute, "documentation"),
            )
    for child in definition.iter(f"{_XS}element"):
        if _owner(child) is definition:
            yield from _element(schema, child, path)


def _owner(node: etree._Element) -> etree._Element | None:
    """Return the innermost type that contains a declaration."""
    return next(node.iterancestors(f"{_XS}complexType"), None)


def _definition(schema: etree._Element, element: etree._Element) -> etree._Element | None:
    own = element.find(f"{_XS}complexType")
    return own if own is not None else schema.find(f"{_XS}complexType[@name='{element.get('type', '')}']")


def _kind(schema: etree._Element, element: etree._Element) -> str:
    if words := _type_words(schema, element.get("type", "")):
        return words
    extension = element.find(f"{_XS}complexType/{_XS}simpleContent/{_XS}extension")
    return "" if extension is None else _type_words(schema, extension.get("base", ""))


def _type_words(schema: etree._Element, name: str) -> str:
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    for kind in ("simpleType", "complexType"):
        found = schema.find(f"{_XS}{kind}[@name='{name}']")
        if found is not None:
            return _text(found, "documentation")
    return ""


def _named(schema: etree._Element, kind: str, name: str) -> etree._Element:
    found = schema.find(f"{_XS}{kind}[@name='{name}']")
    if found is None:
        raise ValueError(f"the schema has no {kind} {name}")
    return found


def _text(node: etree._Element, kind: str) -> str:
    return " ".join((node.findtext(f"{_XS}annotation/{_XS}{kind}") or "").split())
