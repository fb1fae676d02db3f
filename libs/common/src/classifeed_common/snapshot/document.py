"""Documents in YAML or JSON, validated by a JSON Schema; each fault has its line and path.

YAML is restricted so that it means what it looks like. Duplicate keys and keys that are no texts are faults. `no` and
`2026-11-23` are texts. Aliases are refused: with them a few lines can expand to a document of any size.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final, NoReturn

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from classifeed_common.snapshot.faults import DocumentFault, Path

_SHOWN: Final = 300
_MOST_LEVELS: Final = 64
_TEXT_TAG: Final = "tag:yaml.org,2002:str"
_BOOL_TAG: Final = "tag:yaml.org,2002:bool"
_OTHERS_OF_YAML_1_1: Final = frozenset({_BOOL_TAG, "tag:yaml.org,2002:timestamp"})


class _Loader(yaml.CSafeLoader):
    """YAML without the surprising types of version 1.1."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _OTHERS_OF_YAML_1_1]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_BOOL_TAG, re.compile("^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))


def read_document(content: bytes, *, is_json: bool) -> Any:
    """Return the document in a file.

    Raises:
        DocumentFault: the file cannot be read; with the line if it is known.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise DocumentFault("is not UTF-8", line=content.count(b"\n", 0, error.start) + 1) from error
    return _read_json(text) if is_json else _read_yaml(text)


def check_document(document: Any, validator: Draft202012Validator) -> None:
    """Return if a document is valid by its schema.

    Raises:
        DocumentFault: the most specific fault with its path, and the number of further ones.
    """
    faults = list(validator.iter_errors(document))
    if not faults:
        return
    fault = best_match(faults)
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    words = fault.message if len(fault.message) <= _SHOWN else f"{fault.message[:_SHOWN]}…"
    raise DocumentFault(f"{words}{more}", fault.absolute_path)


def find_line(content: bytes, path: Path) -> int | None:
    """Return the line of the element at a path, or of its nearest existing parent; None: it is unknown."""
    try:
        node = _Loader(content).get_single_node()
    except yaml.YAMLError:
        return None  # JSON that is no YAML, such as one with tabs
    if node is None:
        return None
    line: int = node.start_mark.line
    for step in path:
        if isinstance(node, yaml.MappingNode):
            found = next(((key, value) for key, value in node.value if key.value == step), None)
            if found is None:
                break
            line, node = found[0].start_mark.line, found[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line
        else:
            break
    return line + 1


def _read_yaml(text: str) -> Any:
    try:
        _check_events(text)
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            raise DocumentFault("is empty")
        _check_keys(node)
        return loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else None
        raise DocumentFault(f"is not YAML: {error.problem}", line=line) from error
    except yaml.YAMLError as error:
        raise DocumentFault(f"is not YAML: {' '.join(str(error).split())[:_SHOWN]}") from error


def _check_events(text: str) -> None:
    """Return if a document can be composed: libyaml crashes the process if it is nested too deep."""
    level = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = event.start_mark.line + 1 if event.start_mark is not None else None
        if isinstance(event, yaml.AliasEvent):
            raise DocumentFault("aliases are not supported: write the value out", line=line)
        if isinstance(event, yaml.CollectionStartEvent):
            level += 1
            if level > _MOST_LEVELS:
                raise DocumentFault(f"is nested more than {_MOST_LEVELS} levels deep", line=line)
        elif isinstance(event, yaml.CollectionEndEvent):
            level -= 1


def _check_keys(node: yaml.Node) -> None:
    if isinstance(node, yaml.SequenceNode):
        for each in node.value:
            _check_keys(each)
    elif isinstance(node, yaml.MappingNode):
        keys: set[str] = set()
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.tag != _TEXT_TAG:
                raise DocumentFault("keys are texts: put this one in quotes", line=line)
            if key.value in keys:
                raise DocumentFault(f"the key {key.value!r} is used twice", line=line)
            keys.add(key.value)
            _check_keys(value)


def _read_json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_distinct, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise DocumentFault(f"is not JSON: {error.msg}", line=error.lineno) from error
    except RecursionError as error:
        raise DocumentFault("is JSON that cannot be read: it is nested too deeply") from error


def _distinct(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise DocumentFault(f"the key {key!r} is used twice")
        found[key] = value
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise DocumentFault(f"{name} is not a number of JSON")
