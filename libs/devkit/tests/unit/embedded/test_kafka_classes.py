from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from classifeed_devkit.embedded import kafka_classes, kafka_jars
from classifeed_devkit.embedded.kafka_classes import KafkaClasses
from classifeed_devkit.embedded.process import ServerError

_MAKES = "-XX:AOTCacheOutput="


class Runs:
    """Replaces brokers that write their cache of classes, or fail."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error
        self.count = 0
        self.may_end = threading.Event()
        self.may_end.set()

    def __call__(self, folder: Path, options: tuple[str, ...]) -> None:
        self.count += 1
        assert self.may_end.wait(60)
        (draft,) = (option.removeprefix(_MAKES) for option in options if option.startswith(_MAKES))
        Path(draft).write_bytes(b"half")
        if self._error is not None:
            raise self._error


@pytest.fixture
def jars(tmp_path: Path) -> list[Path]:
    return [tmp_path / "kafka.jar"]


def test_they_are_made_once_and_used_from_then_on(jars: list[Path]) -> None:
    classes, run, reports = KafkaClasses(jars, ["25"]), Runs(), list[str]()
    assert classes.java_options == ()
    classes.make(run, reports.append)
    assert f"-XX:AOTCache={classes.path}" in KafkaClasses(jars, ["25"]).java_options
    KafkaClasses(jars, ["25"]).make(run, reports.append)
    assert (run.count, len(reports)) == (1, 1)


def test_another_java_and_other_jars_have_their_own(jars: list[Path]) -> None:
    releases: list[Sequence[str]] = [("25",), ("26",), ("25", "-XX:+UseSerialGC")]
    newer = [jars[0].with_name("newer.jar")]
    paths = {KafkaClasses(class_path, java).path for class_path in (jars, newer) for java in releases}
    assert len(paths) == 6


def test_of_several_that_start_at_once_one_makes_them(jars: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    run, entered, reports = Runs(), list[Path](), list[str]()
    run.may_end.clear()

    def exclusive(path: Path) -> AbstractContextManager[None]:
        entered.append(path)
        if len(entered) == len(threads):  # all have found no cache
            run.may_end.set()
        return kafka_jars.exclusive(path)

    monkeypatch.setattr(kafka_classes, "exclusive", exclusive)
    threads = [threading.Thread(target=KafkaClasses(jars, ["25"]).make, args=(run, reports.append)) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert (run.count, len(reports)) == (1, 1)


@pytest.mark.parametrize("error", [ServerError("kafka exited while starting"), OSError(28, "No space left on device")])
def test_what_fails_is_reported_and_leaves_nothing(jars: list[Path], error: Exception) -> None:
    classes, reports = KafkaClasses(jars, ["25"]), list[str]()
    classes.make(Runs(error), reports.append)
    assert reports[-1] == f"Kafka starts slowly, as its classes cannot be kept in {jars[0].parent}: {error}"
    assert classes.java_options == ()
    assert [path.name for path in jars[0].parent.iterdir()] == [".lock"]


def test_what_a_killed_process_left_is_removed(jars: list[Path]) -> None:
    left = jars[0].parent / "making-classes-x"
    left.mkdir()
    (left / "classes.aot").write_bytes(b"half")
    KafkaClasses(jars, ["25"]).make(Runs(), list[str]().append)
    assert not left.exists()
