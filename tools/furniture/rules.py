"""The rules: one function for each, which yields the findings of a module."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from tools.furniture.areas import ROOT, Finding, Module

SERVICES: Final = frozenset(path.name for path in (ROOT / "services").iterdir() if path.is_dir())
# The name of a role is a verb. A service with two roles of a kind adds a noun: `publish-feeds`, `consume-<client>`.
ROLES: Final = frozenset(
    {"serve", "work", "reap", "schedule", "relay", "publish", "sweep", "deliver"}
    | {"consume", "verify", "watch", "trim", "expire", "judge", "correct"}
)
_DATABASES: Final = frozenset({"database", "replica"})  # the runner has already waited for the database
# First words of the names of use cases. Add a verb that is missing; nouns are not allowed.
VERBS: Final = frozenset(
    {"adopt", "append", "apply", "build", "cancel", "change", "check", "choose", "claim", "clean", "close", "coalesce"}
    | {"comment", "compare", "complete", "compose", "convert", "copy", "correct", "create", "decide", "delete"}
    | {"deliver", "describe", "digest", "download", "expire", "explain", "export", "fail", "fetch", "find"}
    | {"finish", "give", "hold", "join", "judge", "keep", "limit", "list", "locate", "maintain", "make", "measure"}
    | {
        "note",
        "pack",
        "place",
        "process",
        "publish",
        "push",
        "put",
        "queue",
        "raise",
        "read",
        "record",
        "refetch",
        "refill",
    }
    | {"rejudge", "rekey", "remove", "repeat", "report", "reposition", "republish", "request", "rerun", "resize"}
    | {
        "restore",
        "resume",
        "run",
        "scan",
        "schedule",
        "search",
        "send",
        "serve",
        "signal",
        "specify",
        "store",
        "submit",
    }
    | {"suggest", "sweep", "switch", "take", "trace", "trim", "update", "verify", "vote", "watch"}
)
_EVENT: Final = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)+")
_LEVELS: Final = frozenset({"debug", "info", "warning", "error", "exception", "critical"})
_LINES: Final = 60
_PAUSE: Final = re.compile(r"(self\.)?_?(\w+_)?(pause|backoff|wait)_s")
_CONTINUING: Final = frozenset({"log_fault", "next_s", "sleep", "stay", "wait", "wait_for", "wait_for_event"})
# Modules that may continue after a fault by a loop of their own, each with its reason.
FAULT_LOOPS: Final[Mapping[str, str]] = {
    "libs/client/src/classifeed_client/aio/loads.py": "repeats a watch within the timeout of the caller",
    "libs/client/src/classifeed_client/loads.py": "repeats a watch within the timeout of the caller",
    "libs/common/src/classifeed_common/kafka/consuming/attempts.py": "polls during pauses, to stay in its group",
    "libs/common/src/classifeed_common/kafka/consuming/consumer.py": "reloads positions; a new assignment is no fault",
    "libs/jobs/src/classifeed_jobs/enqueue/notifier.py": "ends once no wake is due, and does not repeat a failed one",
    "services/moderation/src/classifeed_moderation/app/judging/judge_texts.py": "continues with the next texts",
    "services/searcher/src/classifeed_searcher/engine/writing/worker.py": "waits for a lock; has no asyncio",
}
_CASE: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def check_servicers(module: Module) -> Iterator[Finding]:
    """Yield servicers without the name of their proto service, or outside the module of that name in `rpc`."""
    stubs = _imports(module, "Servicer")
    for node in module.nodes:
        if not module.inner or not isinstance(node, ast.ClassDef):
            continue
        for base in stubs & {name.id for name in node.bases if isinstance(name, ast.Name)}:
            service = base.removesuffix("Servicer")
            home = _snake(service)
            if node.name != service or "rpc" not in module.inner or home not in module.inner:
                yield Finding("servicer", module, node.lineno, f"class {service} in rpc/{home}.py or rpc/{home}/")


def check_clients(module: Module) -> Iterator[Finding]:
    """Yield stubs of other services outside `clients/<service>.py`, or without a class `<Service>Client`."""
    if not (module.inner and module.area.startswith("services/")):
        return
    stubs = _imports(module, "Stub")
    if not stubs:
        return
    home = module.inner[1] if module.inner[0] == "clients" and len(module.inner) > 1 else ""
    if home not in SERVICES:
        yield Finding("client", module, 1, f"{', '.join(sorted(stubs))} only in clients/<service>.py")
        return
    classes = {node.name for node in module.tree.body if isinstance(node, ast.ClassDef)}
    if len(module.inner) == 2 and f"{home.title()}Client" not in classes:
        yield Finding("client", module, 1, f"class {home.title()}Client")


def check_roles(module: Module) -> Iterator[Finding]:
    """Yield roles whose names do not begin with a verb of the set."""
    for call in _calls(module):
        if not (isinstance(call.func, ast.Name) and call.func.id == "Role" and call.args and module.inner):
            continue
        name, known = call.args[0], ", ".join(sorted(ROLES))
        parts = name.values if isinstance(name, ast.JoinedStr) else [name]
        first = parts[0].value if isinstance(parts[0], ast.Constant) else ""
        if str(first).split("-")[0] not in ROLES:
            yield Finding("role", module, call.lineno, f"one of {known}, or one of them and -<which>")


def check_starts(module: Module) -> Iterator[Finding]:
    """Yield functions that open a server when a process starts, and would fail without it; the runner waits for servers
    in `opens`.
    """
    if not (module.area.startswith("services/") and module.inner[:1] in (("bootstrap",), ("parts",))):
        return
    for node in module.nodes:
        if not (isinstance(node, ast.AsyncFunctionDef) and node.name in {"start", "open"}):
            continue
        for call in (each for each in ast.walk(node) if isinstance(each, ast.Call)):
            opened = ast.unparse(call.func).removeprefix("self.")
            if opened.endswith(".open") and opened.removesuffix(".open") not in _DATABASES:
                yield Finding("start", module, call.lineno, f"ServiceRunner(opens={{name: {opened}}})")


def check_composition(module: Module) -> Iterator[Finding]:
    """Yield a bootstrap with too many lines, and functions of a composition that are too long to read at once."""
    if not (module.area.startswith("services/") and module.inner[:1] in (("bootstrap",), ("parts",))):
        return
    if module.inner == ("bootstrap",) and (lines := len(module.text.splitlines())) > _LINES:
        yield Finding("composition", module, 1, f"at most {_LINES} lines, not {lines}; parts.py builds and joins parts")
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > _LINES:
                yield Finding("composition", module, node.lineno, f"at most {_LINES} lines a function, not {lines}")


def check_sql(module: Module) -> Iterator[Finding]:
    """Yield statements of a service outside of its `store`."""
    if not module.area.startswith("services/") or module.inner[:1] in ((), ("store",), ("migrations",)):
        return
    for call in _calls(module):
        if ast.unparse(call.func).rpartition(".")[2] in {"load_queries", "execute", "executemany"}:
            yield Finding("SQL", module, call.lineno, "statements are in store/")


def check_backoff(module: Module) -> Iterator[Finding]:
    """Yield pauses that are doubled by hand instead of by `Backoff`."""
    if not module.inner or module.inner[-1] == "backoff":
        return
    assigned = (node for node in module.nodes if isinstance(node, ast.Assign))
    for node in assigned:
        if _PAUSE.fullmatch(ast.unparse(node.targets[0])) and any(map(_is_doubled, ast.walk(node.value))):
            yield Finding("back-off", module, node.lineno, "classifeed_common.pacing.backoff.Backoff")


def _is_doubled(node: ast.AST) -> bool:
    if not isinstance(node, ast.BinOp):
        return False
    parts = [ast.unparse(node.left), ast.unparse(node.right)]
    is_power = isinstance(node.op, ast.Pow) and parts[0] == "2"
    is_doubled = isinstance(node.op, ast.Mult) and "2" in parts and any(map(_PAUSE.fullmatch, parts))
    return is_power or is_doubled


def check_fault_loops(module: Module) -> Iterator[Finding]:
    """Yield loops by hand that log a fault or pause after it, and continue."""
    if module.path.parts[0] not in {"libs", "services"} or module.inner[:1] in ((), ("loops",)):
        return
    if str(module.path) not in FAULT_LOOPS:
        for line in fault_loops(module):
            yield Finding("fault loop", module, line, "Loop, LeasedLoop or retry; see CONTRIBUTING, Loops")


def fault_loops(module: Module) -> Iterator[int]:
    """Yield the lines of `while` loops with an `except` that logs or pauses."""
    for loop in (node for node in module.nodes if isinstance(node, ast.While)):
        handlers = (node for node in ast.walk(loop) if isinstance(node, ast.ExceptHandler))
        calls = (node for handler in handlers for node in ast.walk(handler) if isinstance(node, ast.Call))
        if any(_event_of(call) or ast.unparse(call.func).rpartition(".")[2] in _CONTINUING for call in calls):
            yield loop.lineno


def check_events(module: Module) -> Iterator[Finding]:
    """Yield log events that are not a dotted constant, `area.thing.happened`."""
    for call in _calls(module):
        event = _event_of(call)
        if event is None or not module.inner:
            continue
        if ast.unparse(event) == "self._event":
            continue  # a Loop logs the event of its owner
        text = event.value if isinstance(event, ast.Constant) else None
        if not (isinstance(text, str) and _EVENT.fullmatch(text)):
            yield Finding("log event", module, call.lineno, 'a constant, "area.thing.happened", and details by keyword')


def check_use_cases(module: Module) -> Iterator[Finding]:
    """Yield modules in `app` of a service whose names are not a verb and a noun."""
    if not module.area.startswith("services/") or module.inner[:1] != ("app",) or module.inner[-1].startswith("__"):
        return
    verb, _, rest = module.inner[-1].partition("_")
    if verb not in VERBS or not rest:
        yield Finding("use case", module, 1, "app/verb_noun.py; keep modules that are not use cases with their subject")


def check_variables(module: Module) -> Iterator[Finding]:
    """Yield other names of databases, and of variables that every bootstrap has."""
    if not module.inner:
        return
    for node in module.nodes:
        if isinstance(node, ast.arg) and isinstance(node.annotation, ast.Name):
            kind, name = node.annotation.id, node.arg
            if kind == "Database" and name != "database":
                yield Finding("variable", module, node.lineno, f"database: Database, not {name}")
        elif isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "Database":
            if ast.unparse(node.target) not in {"database", "self.database", "self._database"}:
                yield Finding("variable", module, node.lineno, f"database: Database, not {ast.unparse(node.target)}")
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            names = {target.id for target in node.targets if isinstance(target, ast.Name)}
            if ast.unparse(node.value.func) == "database_of" and names != {"database"}:
                yield Finding("variable", module, node.lineno, "database = database_of(settings)")
    if module.area.startswith("services/") and module.inner == ("bootstrap",):
        yield from _check_bootstrap(module)
    if module.area.startswith("services/") and module.inner == ("__main__",):
        for call in _calls(module):
            for keyword in call.keywords:
                if keyword.arg == "prepare" and ast.unparse(keyword.value) != "prepare":
                    yield Finding("variable", module, call.lineno, "prepare=prepare")


def check_migrations(module: Module) -> Iterator[Finding]:
    """Yield migrations with `downgrade`, which nothing calls except a test of it."""
    for node in module.tree.body:
        if "versions" in module.path.parts and isinstance(node, ast.FunctionDef) and node.name == "downgrade":
            yield Finding("migration", module, node.lineno, "upgrade only: the version before works with the tables")


def _check_bootstrap(module: Module) -> Iterator[Finding]:
    assigned = {target.id for node in module.tree.body if isinstance(node, ast.Assign) for target in _names(node)}
    if "SERVICE" not in assigned:
        yield Finding("variable", module, 1, 'SERVICE = "<name>"')
    for node in module.tree.body:
        if (
            isinstance(node, ast.FunctionDef)
            and node.name == "build"
            and [a.arg for a in node.args.args] != ["settings"]
        ):
            yield Finding("variable", module, node.lineno, "build(settings)")
    for call in _calls(module):
        for keyword in call.keywords:
            wanted = {"on_start": "start", "on_stop": "stop"}.get(keyword.arg or "")
            if wanted and isinstance(keyword.value, ast.Name) and keyword.value.id != wanted:
                yield Finding("variable", module, call.lineno, f"{keyword.arg}={wanted}")


def _names(node: ast.Assign) -> list[ast.Name]:
    return [target for target in node.targets if isinstance(target, ast.Name)]


def _imports(module: Module, suffix: str) -> set[str]:
    """Return the names with this suffix that a module imports from stubs of gRPC."""
    return {
        name.asname or name.name
        for node in module.nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("_pb2_grpc")
        for name in node.names
        if name.name.endswith(suffix)
    }


def _calls(module: Module) -> Iterator[ast.Call]:
    return (node for node in module.nodes if isinstance(node, ast.Call))


def _event_of(call: ast.Call) -> ast.expr | None:
    """Return the event of a logging call; None for another call."""
    if isinstance(call.func, ast.Name) and call.func.id == "log_fault":
        return call.args[1] if len(call.args) > 1 else None
    if not (isinstance(call.func, ast.Attribute) and call.func.attr in _LEVELS and call.args):
        return None
    return call.args[0] if ast.unparse(call.func.value).split(".")[-1].strip("_") in {"log", "logger"} else None


def _snake(name: str) -> str:
    return _CASE.sub("_", name).lower()


RULES: Final[Mapping[str, Callable[[Module], Iterator[Finding]]]] = {
    "servicer": check_servicers,
    "client": check_clients,
    "role": check_roles,
    "start": check_starts,
    "composition": check_composition,
    "SQL": check_sql,
    "back-off": check_backoff,
    "fault loop": check_fault_loops,
    "log event": check_events,
    "use case": check_use_cases,
    "variable": check_variables,
    "migration": check_migrations,
}
