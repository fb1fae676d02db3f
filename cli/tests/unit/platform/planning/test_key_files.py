"""Lost and damaged files of the keys folder: a start creates them again, or its error names the fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from classifeed_cli.exit_codes import CommandError
from classifeed_cli.platform.planning.credentials import ensure_credentials
from classifeed_cli.platform.planning.layout import Layout

# What happens without a file, and what the fix of a damaged one is; None: the services name it, and `up` starts.
FILES = {
    "jwks.json": ("made", "makes it from the private keys"),
    "operator.pem": ("made", "makes a new key"),
    "api.pem": ("made", "makes a new key"),
    "seal.keys": ("made", "`classifeed status` names the feeds"),
    "s3.json": ("made", "Restore the file from a backup."),
    "postgres.json": ("KEY_FILE_LOST", "Restore the file from a backup."),
    "tokens.json": ("missing", None),
}


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """Provide an installation that was started once."""
    layout = Layout(tmp_path / "data")
    layout.prepare()
    ensure_credentials(layout, ["api"])
    layout.part("postgres").mkdir()
    return layout


def test_each_file_has_a_row(layout: Layout) -> None:
    assert {path.name for path in layout.keys.iterdir()} - {"service.pem"} == FILES.keys()


@pytest.mark.parametrize("name", FILES)
def test_a_lost_file_is_made_again_or_named(layout: Layout, name: str) -> None:
    path = layout.keys / name
    path.unlink()
    if FILES[name][0].isupper():
        with pytest.raises(CommandError) as caught:
            ensure_credentials(layout, ["api"])
        assert (caught.value.reason, str(path) in caught.value.message) == (FILES[name][0], True)
        assert "Restore the file from a backup." in caught.value.message
    else:
        ensure_credentials(layout, ["api"])
    assert path.exists() == (FILES[name][0] == "made")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"keys": [{}]}', b"\xff\xfe"], ids=repr)
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_named_with_what_to_do(layout: Layout, name: str, content: bytes) -> None:
    path = layout.keys / name
    path.write_bytes(content)
    fix = FILES[name][1]
    if fix is None:
        ensure_credentials(layout, ["api"])
    else:
        with pytest.raises(CommandError) as caught:
            ensure_credentials(layout, ["api"])
        assert caught.value.reason == "KEY_FILE_DAMAGED"
        assert caught.value.message.startswith(f"{path} cannot be read (")
        assert fix in caught.value.message
    assert path.read_bytes() == content
