"""Migrations inside the wheel: Alembic run from code, with one history per service in the service's schema.

A service only has `<package>/migrations/versions/*.py`; the environment is shared. Each revision file names its phase
in a module attribute. `PHASE = "pre"` (the default) is safe while the previous version runs. `PHASE = "post"` is safe
only after the previous version has stopped.
"""

from __future__ import annotations

from classifeed_common.db.migrations.history import MigrationError, Phase
from classifeed_common.db.migrations.run import check_drift, migrate

__all__ = ["MigrationError", "Phase", "check_drift", "migrate"]
