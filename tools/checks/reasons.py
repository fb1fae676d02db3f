"""The reasons of all errors that the code can raise, read from its syntax trees.

docs/reference/reasons.md has all reasons, and a test compares both. `python -m tools.checks.reasons` prints each reason
with its place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from classifeed_common.errors import KINDS
from tools.arguments import parse
from tools.generate.files import ROOT

# Position of the reason among the arguments of functions and classes that make errors.
SERVICE_ERRORS: Final[Mapping[str, int]] = {kind.__name__: 0 for kind in KINDS}
COMMAND_ERRORS: Final[Mapping[str, int]] = {"CommandError": 1, "refused": 0, "unavailable": 0, "timed_out": 0}
CLIENT_ERRORS: Final[Mapping[str, int]] = {"Refused": 0, "Unreachable": 0, "DeadlineExceeded": 0}


@dataclass(frozen=True, slots=True)
class Raised:
    """An error in the code, with its function or class, reason and place; an empty reason means an error passed on."""

    maker: str
    reason: str
    place: str
    expression: str


def sources(root: Path = ROOT) -> list[Path]:
    """Return the modules of services, libraries and command line, without generated ones."""
    folders = [*root.glob("services/*/src"), *root.glob("libs/*/src"), root / "cli" / "src"]
    return sorted(path for folder in folders for path in folder.rglob("*.py") if "contracts" not in path.parts)


def collect(paths: Iterable[Path], root: Path = ROOT) -> list[Raised]:
    """Return every error that the modules make, once for each of its possible reasons."""
    modules = [_Module(path, root) for path in paths]
    for module in modules:
        module.callers = [module, *(other for other in modules if module.name in other.imports)]
    constants: dict[str, set[str]] = {}
    for module in modules:
        for name, value in module.constants.items():
            constants.setdefault(name, set()).add(value)
    return [raised for module in modules for raised in module.errors(constants)]


class _Module:
    def __init__(self, path: Path, root: Path) -> None:
        self._path = path.relative_to(root).as_posix()
        tree = ast.parse(path.read_text("utf-8"))
        self.constants = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign | ast.AnnAssign)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }
        # The name in imports, and the imported modules.
        self.name = self._path.partition("/src/")[2].removesuffix(".py").replace("/", ".")
        self.imports = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        self.callers = [self]
        self._calls = [*_calls(tree, None), *_calls_of_bases(tree)]

    def errors(self, constants: Mapping[str, set[str]]) -> Iterator[Raised]:
        is_client = self._path.startswith("libs/client/")
        makers = COMMAND_ERRORS if self._path.startswith("cli/") else CLIENT_ERRORS if is_client else SERVICE_ERRORS
        if self._path.startswith("cli/"):
            makers = {**SERVICE_ERRORS, **makers}
        for call, function in self._calls:
            name = _name_of(call.func)
            if name not in makers:
                continue
            given = _argument(call, makers[name], "reason")
            if given is None:
                continue
            reasons = self._values(given, function, constants, frozenset()) or {""}
            place = f"{self._path}:{call.lineno}"
            yield from (Raised(name, reason, place, ast.unparse(given)) for reason in sorted(reasons))

    def _values(
        self,
        node: ast.expr,
        function: ast.FunctionDef | ast.AsyncFunctionDef | None,
        constants: Mapping[str, set[str]],
        seen: frozenset[tuple[str, str]],
    ) -> set[str]:
        """Return every possible text of an expression; an empty set if the text is unknown."""
        match node:
            case ast.Constant(value=str(value)):
                return {value}
            case ast.IfExp(body=body, orelse=orelse):
                return self._values(body, function, constants, seen) | self._values(orelse, function, constants, seen)
            case ast.JoinedStr(values=[ast.FormattedValue(value=inner), ast.Constant(value=str(tail))]):
                return {f"{value}{tail}" for value in self._values(inner, function, constants, seen)}
            case ast.Call(func=ast.Attribute(value=inner, attr="upper"), args=[]):
                return {value.upper() for value in self._values(inner, function, constants, seen)}
            case ast.Name(id=name) if function is not None and name in (names := _parameters(function)):
                key = (f"{self._path}:{function.name}", name)
                if key in seen:
                    return set()
                return {
                    value
                    for module in self.callers
                    for call, caller in module._calls
                    if _name_of(call.func) == function.name
                    and (given := _argument(call, names.index(name), name)) is not None
                    for value in module._values(given, caller, constants, seen | {key})
                }
            case ast.Name(id=name):
                return {self.constants[name]} if name in self.constants else constants.get(name, set())
        return set()


def _calls(
    node: ast.AST, function: ast.FunctionDef | ast.AsyncFunctionDef | None
) -> Iterator[tuple[ast.Call, ast.FunctionDef | ast.AsyncFunctionDef | None]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield child, function
        yield from _calls(child, child if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function)


def _calls_of_bases(tree: ast.Module) -> Iterator[tuple[ast.Call, None]]:
    """Yield the calls of `super().__init__` in classes, as calls of their base."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and len(node.bases) == 1:
            for call in ast.walk(node):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "super().__init__":
                    yield ast.copy_location(ast.Call(node.bases[0], call.args, call.keywords), call), None


def _name_of(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    return [argument.arg for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]


def _argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    if position < len(call.args):
        return call.args[position]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


if __name__ == "__main__":
    parse(__doc__)
    for found in collect(sources()):
        print(f"{found.reason or '(' + found.expression + ')'}\t{found.maker}\t{found.place}")
