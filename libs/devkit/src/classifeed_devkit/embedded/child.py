"""Binds its process to the life of its parent and execs the given program; run by path with `python -I -S`.

It is a separate small program because this must happen between fork and exec, where a parent with threads (grpc,
librdkafka) must not run Python. It uses the standard library only, without this package, and starts in about 10 ms.
The process id stays the same through exec.

    child.py --parent PID --signal N [--uid N --gid N] -- PROGRAM ARG...
"""

from __future__ import annotations

import argparse
import ctypes
import os
import struct
import sys

_PR_SET_PDEATHSIG, _PR_SET_SECUREBITS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = 1, 28, 47, 2
_SECBIT_NO_SETUID_FIXUP = 1 << 2
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 1, 2
_CAPABILITY_VERSION_3 = 0x20080522


def _become(libc: ctypes.CDLL, uid: int, gid: int) -> None:
    """Drop root permanently, but keep one capability: to pass through folders of mode 0700 above data and binaries.

    Without it, every folder up to / would have to be open to all users, which the PostgreSQL wheel's own code does.
    Containers usually lack CAP_DAC_READ_SEARCH; CAP_DAC_OVERRIDE is the fallback. NO_SETUID_FIXUP makes access(2),
    which initdb calls for its binaries, respect the capability. If the kernel refuses, the program runs without it.
    """
    libc.prctl(_PR_SET_SECUREBITS, _SECBIT_NO_SETUID_FIXUP, 0, 0, 0)
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
    for capability in (_CAP_DAC_READ_SEARCH, _CAP_DAC_OVERRIDE):
        mask = 1 << capability
        header = struct.pack("II", _CAPABILITY_VERSION_3, 0)
        data = struct.pack("IIIIII", mask, mask, mask, 0, 0, 0)
        if libc.capset(header, data) == 0:
            libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, capability, 0, 0)
            return


def main() -> None:
    """Prepare the process and exec the program; never returns."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--signal", type=int, required=True)
    parser.add_argument("--uid", type=int)
    parser.add_argument("--gid", type=int)
    parser.add_argument("program", nargs="+")
    args = parser.parse_args()
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if args.uid is not None:
            _become(libc, args.uid, args.gid)
        # Set after the change of user, which clears it.
        libc.prctl(_PR_SET_PDEATHSIG, args.signal, 0, 0, 0)
        if os.getppid() != args.parent:
            sys.exit(1)  # the parent died before the line above
    try:
        os.execvp(args.program[0], args.program)  # noqa: S606 - no shell wanted
    except OSError as error:
        sys.exit(f"cannot start {args.program[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
