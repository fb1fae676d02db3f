"""The imports of a process of pictures at its start."""

from __future__ import annotations

from classifeed_devkit.testing.imports import loaded_by


def test_what_backups_alone_need_is_not_loaded() -> None:
    """These imports cost a third of a second per start, and 15 MB per process."""
    loaded = loaded_by("classifeed_pictures.bootstrap")
    assert "classifeed_pictures.store.backups.backups" in loaded
    assert not {"sqlalchemy", "pyarrow"} & {name.partition(".")[0] for name in loaded}
