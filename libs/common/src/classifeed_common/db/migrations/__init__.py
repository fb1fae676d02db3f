"""Migrations inside the wheel: Alembic run from code, one history per service in the service's own schema.

A service only has `<package>/migrations/versions/*.py`; the environment is shared. Each revision file names its phase
in a module attribute: `PHASE = "pre"` (the default: safe while the previous version runs) or `PHASE = "post"` (only
once nothing of the previous version runs any more).
"""

from __future__ import annotations

from classifeed_common.db.migrations.history import MigrationError, Phase
from classifeed_common.db.migrations.run import check_drift, migrate

__all__ = ["MigrationError", "Phase", "check_drift", "migrate"]
