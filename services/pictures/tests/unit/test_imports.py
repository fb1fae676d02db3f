"""What a process of pictures loads as it starts."""

from __future__ import annotations

from classifeed_common.testing.imports import loaded_by


def test_what_backups_alone_need_is_not_loaded() -> None:
    """A third of a second of each start, and 15 MB of each process."""
    loaded = loaded_by("classifeed_pictures.bootstrap")
    assert "classifeed_pictures.store.backups" in loaded
    assert not {"sqlalchemy", "pyarrow"} & {name.partition(".")[0] for name in loaded}
