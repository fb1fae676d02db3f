"""The runner: a service declares its roles, and gets serving, health, drain, metrics and commands (ADR 0017)."""

from classifeed_common.rpc.server import Servicer
from classifeed_common.runner.command import main, version_of
from classifeed_common.runner.role import Role, RolePart
from classifeed_common.runner.service import SERVE, ServiceRunner
from classifeed_common.runner.watch import Watch

__all__ = ["SERVE", "Role", "RolePart", "ServiceRunner", "Servicer", "Watch", "main", "version_of"]
