"""The README of every chart: a table of its values, from values.yaml, its comments and the schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import yaml

from classifeed_common.settings import ServiceSettings
from tools.generate.files import ROOT

Row = tuple[str, str, str, str]
_SCHEMA: Final = ROOT / "helm/lib/values.schema.yaml"
_TYPES: Final = {
    "str": "string",
    "bool": "boolean",
    "int": "integer",
    "float": "number",
    "seq": "array",
    "map": "object",
}
_HEAD: Final = """# Chart {name}

{description}. To install it, see [deploy](../../docs/how-to/deploy.md).

`make stubs` makes this page from `values.yaml`. Values without a default are optional.

| value | type | default | description |
| --- | --- | --- | --- |
"""


def list_files() -> Iterator[tuple[Path, str]]:
    """Yield the README of each chart with its expected text."""
    for chart in sorted(path.parent for path in ROOT.glob("helm/*/values.yaml")):
        about = yaml.safe_load((chart / "Chart.yaml").read_text("utf-8"))
        has_schema = (chart / "values.schema.json").exists()
        schema = yaml.safe_load(_SCHEMA.read_text("utf-8")) if has_schema else {}
        described = _describe_settings(chart.name) if has_schema else {}
        rows = [
            (path, kind, default, text or described.get(path, ""))
            for path, kind, default, text in list_rows((chart / "values.yaml").read_text("utf-8"), schema)
        ]
        head = _HEAD.format(name=chart.name, description=about["description"].rstrip("."))
        yield chart / "README.md", head + "".join(map(_as_line, rows))


def _describe_settings(service: str) -> dict[str, str]:
    """Return the description of each value of `config` from the settings of a service."""
    module = import_module(f"classifeed_{service}.settings")
    [settings] = [
        kind
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, ServiceSettings) and kind.__module__ == module.__name__
    ]
    return {f"config.{name.upper()}": field.description or "" for name, field in settings.model_fields.items()}


def list_rows(values: str, schema: Mapping[str, Any]) -> list[Row]:
    """Return path, type, default and description of each value, in the order of the file.

    A mapping has a row if it has a comment. Values that only the schema has follow the other values of the same
    mapping. A description is the comment above the value, or the description in the schema.
    """
    top = yaml.compose(values)
    if not isinstance(top, yaml.MappingNode):
        raise TypeError("values.yaml is not a mapping")
    return list(_rows(top, values.splitlines(), schema, ""))


def _rows(mapping: yaml.MappingNode, lines: Sequence[str], schema: Mapping[str, Any], above: str) -> Iterator[Row]:
    for key, node in mapping.value:
        path, below = f"{above}{key.value}", _below(schema, key.value)
        text = _comment_above(lines, key.start_mark) or below.get("description", "")
        descends = isinstance(node, yaml.MappingNode) and not node.flow_style
        if descends:
            if text:
                yield path, _type(node, below), "", text
            yield from _rows(node, lines, below, f"{path}.")
        else:
            yield path, _type(node, below), _default(node), text
            if isinstance(node, yaml.MappingNode) and not node.value:
                yield from _unset(below, set(), f"{path}.")
    yield from _unset(schema, {key.value for key, _ in mapping.value}, above)


def _unset(schema: Mapping[str, Any], given: set[str], above: str) -> Iterator[Row]:
    for name, below in schema.get("properties", {}).items():
        if name not in given:
            yield f"{above}{name}", _named(below), "", below.get("description", "")


def _below(schema: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    further = schema.get("additionalProperties")
    found: Mapping[str, Any] = schema.get("properties", {}).get(name, further if isinstance(further, dict) else {})
    return found


def _type(node: yaml.Node, schema: Mapping[str, Any]) -> str:
    return _named(schema) or _TYPES[node.tag.rpartition(":")[2]]


def _named(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(schema["enum"])
    named = schema.get("type", "")
    return named if isinstance(named, str) else " or ".join(named)


def _default(node: yaml.Node) -> str:
    return json.dumps(yaml.safe_load(yaml.serialize(node)), ensure_ascii=False)


def _comment_above(lines: Sequence[str], mark: yaml.Mark) -> str:
    beginning = " " * mark.column + "#"
    start = mark.line
    while start and lines[start - 1].startswith(beginning):
        start -= 1
    # The first lines of a file describe the file.
    return " ".join(line.strip(" #") for line in lines[start : mark.line]) if start else ""


def _as_line(row: Row) -> str:
    path, kind, default, text = (cell.replace("|", "\\|").replace("<", "\\<") for cell in row)
    return f"| `{path}` | {kind} | {f'`{default}`' if default else ''} | {text} |\n"
