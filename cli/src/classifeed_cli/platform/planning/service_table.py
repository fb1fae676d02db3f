"""The service table: all services, and the parts that each of them needs."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from classifeed_cli.exit_codes import CommandError, ExitCode, unavailable

TABLE_VARIABLE = "CLASSIFEED_SERVICE_TABLE"
PARTS = ("postgres", "kafka", "s3")


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    """A row of the table: the package to run with `python -m`, and the parts that it needs."""

    name: str
    package: str
    database: bool = False
    kafka: bool = False
    s3: bool = False
    secrets: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def prefix(self) -> str:
        """Prefix of the service's environment variables."""
        return f"CLASSIFEED_{self.name.upper()}_"

    @property
    def parts(self) -> frozenset[str]:
        """Embedded servers that the service needs."""
        needs = {"postgres": self.database, "kafka": self.kafka, "s3": self.s3}
        return frozenset(part for part, needed in needs.items() if needed)

    @property
    def version(self) -> str:
        """Version of the installed distribution; empty if it has none."""
        try:
            return importlib.metadata.version(self.package.replace("_", "-"))
        except importlib.metadata.PackageNotFoundError:
            return ""

    def check_installed(self) -> None:
        """Check that the package can be run.

        Raises:
            CommandError: The package is missing or cannot be run.
        """
        if importlib.util.find_spec(self.package) is None:
            problem = f"package {self.package} is missing: run `make setup`"
        elif importlib.util.find_spec(f"{self.package}.__main__") is None:
            problem = f"package {self.package} cannot be run yet: it has no __main__.py"
        else:
            return
        raise unavailable("PACKAGE_MISSING", f"{self.name}: {problem}, or leave it out with --only")


@dataclass(frozen=True, slots=True)
class ServiceTable:
    """The services, topics and knobs."""

    services: Mapping[str, ServiceSpec]
    topics: tuple[str, ...] = ()
    knobs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def load(cls) -> ServiceTable:
        """Return the table of this package, or the one that CLASSIFEED_SERVICE_TABLE names."""
        chosen = os.environ.get(TABLE_VARIABLE)
        path = Path(chosen) if chosen else Path(__file__).with_name("services.toml")
        content = tomllib.loads(path.read_text())
        return cls(
            services={name: ServiceSpec(name, **row) for name, row in content["services"].items()},
            topics=tuple(content.get("topics", ())),
            knobs={name: _expand(targets, content["services"]) for name, targets in content.get("knobs", {}).items()},
        )

    def choose(self, only: Iterable[str]) -> tuple[list[ServiceSpec], frozenset[str]]:
        """Return the services and parts that `--only` names, with the parts that those services need; by default all.

        Raises:
            CommandError: A name is neither a service nor a part.
        """
        names = [name.strip() for entry in only for name in entry.split(",") if name.strip()]
        unknown = sorted(set(names) - set(self.services) - set(PARTS))
        if unknown:
            known = ", ".join([*self.services, *PARTS])
            raise CommandError(ExitCode.USAGE, "USAGE", f"--only {', '.join(unknown)}: not known; there are {known}")
        chosen = [spec for name, spec in self.services.items() if not names or name in names]
        parts = {part for spec in chosen for part in spec.parts} | (set(names) & set(PARTS))
        return chosen, frozenset(parts if names else PARTS)


def _expand(targets: Iterable[str], services: Iterable[str]) -> tuple[str, ...]:
    """Return the variables of a knob; a * in a name is replaced by each service."""
    names = [name.upper() for name in services]
    return tuple(
        variable
        for target in targets
        for variable in ([target.replace("*", name) for name in names] if "*" in target else [target])
    )
