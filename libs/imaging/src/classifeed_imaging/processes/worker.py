"""The decoding process: `python -m classifeed_imaging.processes.worker LIMITS`, frames in, frames out.

Its environment has no variables of the service. Its only descriptors are standard input, output and error, and it can
open no file or socket. The kernel limits its address space and CPU time. It dies with the process that started it.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from typing import Any, BinaryIO, Final

from classifeed_imaging.faults import TOO_MUCH_MEMORY, DecodeFailed, broken
from classifeed_imaging.limits import Limits, too_much_memory
from classifeed_imaging.model import VERSION_FORMATS, SizeSpec
from classifeed_imaging.pipeline import decode_picture
from classifeed_imaging.processes.wire import (
    LENGTHS,
    OUT_OF_MEMORY,
    pack,
    pack_result,
    unpack,
    unpack_request,
)

_PR_SET_PDEATHSIG: Final = 1
_DESCRIPTORS: Final = 3


def main() -> int:
    """Serve until the input ends."""
    options = json.loads(sys.argv[1])
    limits = Limits(**options["limits"])
    die_with_parent(options["parent"])
    source, target = sys.stdin.buffer, sys.stdout.buffer
    warm_up(limits)
    confine(limits)
    _write(target, pack({"ready": True}))
    try:
        return _serve(source, target, limits, options["deadline_s"])
    except MemoryError:  # while a request was read or a result was written
        return OUT_OF_MEMORY


def _serve(source: BinaryIO, target: BinaryIO, limits: Limits, deadline_s: float) -> int:
    while (frame := _read(source)) is not None:
        fields, blobs = frame
        limit_cpu(deadline_s)
        data, sizes, formats = unpack_request(fields, blobs)
        try:
            result = decode_picture(data, sizes, formats, limits)
        except DecodeFailed as fault:
            _write(target, pack_result(fault, data))
            if fault.code == TOO_MUCH_MEMORY:
                return 0  # the rest of the address space may be fragmented
        except MemoryError:
            _write(target, pack_result(too_much_memory("The picture"), data))
            return 0
        except Exception:  # noqa: BLE001 - any exception of a library or parser is the picture's fault
            _write(target, pack_result(broken("The picture cannot be read."), data))
        else:
            _write(target, pack_result(result, data))
            del result
        limit_cpu(0)  # reading the next picture has no limit
        del data, blobs, fields, frame
    return 0


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent ends, for any reason."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def confine(limits: Limits) -> None:
    """Give up all resources that decoding does not need."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 2)
    os.close(quiet)
    os.closerange(_DESCRIPTORS, 4096)
    for kind, value in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_NOFILE, _DESCRIPTORS),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (value, value))


def limit_cpu(deadline_s: float) -> None:
    """Have the kernel end this process by SIGPROF after so many seconds of CPU from now; 0: never."""
    signal.setitimer(signal.ITIMER_PROF, deadline_s)


def warm_up(limits: Limits) -> None:
    """Load all modules that Pillow and numpy load lazily: once confined, the process can open no file."""
    from PIL import Image

    from classifeed_imaging.pixels.encoding import encode

    Image.preinit()
    picture = Image.linear_gradient("L").resize((16, 16)).convert("RGBA")
    for name in VERSION_FORMATS:
        decode_picture(encode(picture, name), [SizeSpec("small", 8, 8, True)], VERSION_FORMATS, limits)


def _read(source: BinaryIO) -> tuple[dict[str, Any], list[bytes]] | None:
    lengths = source.read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    head, body = LENGTHS.unpack(lengths)
    return unpack(source.read(head), source.read(body))


def _write(target: BinaryIO, pieces: list[bytes]) -> None:
    for piece in pieces:
        target.write(piece)
    target.flush()


if __name__ == "__main__":
    sys.exit(main())
