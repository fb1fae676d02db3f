"""Refuse changes of proto/ that break clients and servers of an earlier commit, by `buf breaking`.

The base is the commit of `--against`. Without it, the base is the merge base with origin/main. Without that, it is the
last commit if proto/ differs from it, or the one before. Without a base (no git, first commit, shallow clone) the check
passes.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tools.arguments import parser_of
from tools.generate.files import ROOT

PROTOS = ("proto/classifeed", "proto/buf")


def git(*arguments: str) -> bytes | None:
    """Return the output of git, or None if git fails (not a repository, no such commit)."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None


def find_base() -> str | None:
    """Return the commit to compare with, or None."""
    head = git("rev-parse", "--verify", "--quiet", "HEAD")
    if head is None:
        return None
    fork = git("merge-base", "HEAD", "origin/main")
    if fork is not None and fork != head:
        return fork.decode().strip()
    if git("status", "--porcelain", "--", "proto"):
        return "HEAD"
    return "HEAD^" if git("rev-parse", "--verify", "--quiet", "HEAD^") is not None else None


def main() -> int:
    """Run the command line."""
    parser = parser_of(__doc__)
    parser.add_argument("--against", metavar="COMMIT", help="commit to compare with")
    against = parser.parse_args().against
    base = against or find_base()
    if base and git("diff", "--quiet", base, "--", *PROTOS) is not None:
        return 0  # nothing has changed, so buf need not compare
    archive = git("archive", "--format=tar", base, "--", *PROTOS) if base else None
    if archive is None:
        if against:
            sys.exit(
                f"breaking: commit {against} is unknown here or has no proto/; name one that `git log -- proto` shows"
            )
        print("breaking: no earlier protos to compare with")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            # Releases of Python before 3.11.4 have no filters.
            tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
            tar.extractall(scratch)
        # Both sides use the current copies of the vendored Google protos: an older commit may have none.
        Path(scratch, "proto", "google").symlink_to(ROOT / "proto" / "google")
        Path(scratch, "buf.yaml").write_bytes((ROOT / "buf.yaml").read_bytes())
        buf = (
            shutil.which("buf", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}") or "buf"
        )
        return subprocess.run([buf, "breaking", "--against", scratch], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
