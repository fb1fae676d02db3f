"""The fuzzer of the readers: `python -m libs.feeds.tests.fuzz --seed 7 --seconds 600`.

Input N of seed S depends only on both numbers, so `--replay S:N` reads it again. The readers may raise only faults of
the file (FeedFault). Each other fault is printed once, with its seed and its smallest input; the exit status is 1 then.
The file of `--progress` contains the current input, so that it is known even after a crash or a hang.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys
import time
import traceback
from pathlib import Path

from .corpus import Corpus, load_corpus
from .generating import generate
from .minimising import minimise
from .mutations import mutate
from .reading import Reader, signature

_MINIMISE_S = 20.0


def make_input(corpus: Corpus, seed: int, number: int) -> bytes:
    """Return the input with a number."""
    rng = random.Random(f"{seed}:{number}")
    kind = rng.random()
    if kind < 0.15:
        return generate(rng)
    if kind < 0.3:
        return mutate(rng, generate(rng))
    return mutate(rng, rng.choice(corpus.loadable if kind < 0.9 else corpus.others))


def main() -> int:
    """Read inputs until the time limit."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--seconds", type=float, default=5.0)
    options.add_argument("--replay", help="seed and number of one input, such as 7:1234")
    options.add_argument("--progress", type=Path, help="file for the number of the input under way")
    options.add_argument("--save", type=Path, help="folder for the smallest inputs")
    options.add_argument("--break", dest="broken", default="", help="code that breaks a reader, to see it found")
    asked = options.parse_args()
    faulthandler.enable()
    corpus = load_corpus()
    exec(asked.broken)
    reader = Reader()
    found: dict[str, str] = {}
    number = 0
    if asked.replay:
        asked.seed, number = map(int, asked.replay.split(":"))
    progress = asked.progress.open("r+b" if asked.progress.exists() else "w+b") if asked.progress else None
    began = time.monotonic()
    try:
        while True:
            if progress is not None:
                progress.seek(0)
                progress.write(f"{asked.seed}:{number:<12}".encode())
                progress.flush()
            data = make_input(corpus, asked.seed, number)
            try:
                reader.read(data, number)
            except Exception as error:  # noqa: BLE001 - any may come out
                name = signature(error)
                if name not in found:
                    found[name] = f"{asked.seed}:{number}"
                    print_found(reader, data, number, name, found[name], asked.save)
                    began += _MINIMISE_S if not asked.replay else 0
            number += 1
            if asked.replay or time.monotonic() - began > asked.seconds:
                break
    finally:
        reader.close()
    took = time.monotonic() - began
    inputs = 1 if asked.replay else number
    outcomes = ", ".join(f"{name} {count}" for name, count in sorted(reader.outcomes.items(), key=lambda row: -row[1]))
    cost = f"at most {reader.slowest_s:.1f} s and {reader.largest_mib:.0f} MiB more for one"
    say(f"seed {asked.seed}: {inputs} inputs, {inputs / took:.0f}/s, {cost}; {len(found)} distinct faults; {outcomes}")
    if not corpus.has_real:
        say("the shared feeds are not there (CLASSIFEED_SHARED_DATA, else ../shared/data): samples only")
    return 1 if found else 0


def print_found(reader: Reader, data: bytes, number: int, name: str, where: str, folder: Path | None) -> None:
    """Report a fault, with the smallest input that causes it."""
    say(f"FAULT {name}; --replay {where}")
    say(traceback.format_exc())

    def fails(shorter: bytes) -> bool:
        try:
            reader.read(shorter, number)
        except Exception as error:  # noqa: BLE001 - any may come out
            return signature(error) == name
        return False

    small = minimise(data, fails, _MINIMISE_S)
    say(f"smallest input, {len(small)} bytes: {small[:2000]!r}")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / where.replace(":", "-")).write_bytes(small)


def say(line: str) -> None:
    """Write a line."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
