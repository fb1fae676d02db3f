from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import pytest
from pydantic import BaseModel

from classifeed_jobs import JobContext, Progress, Registry
from classifeed_jobs.model.task import InvalidArgs


class Args(BaseModel):
    seller_id: int
    names: list[str] = []


async def with_model(ctx: JobContext, args: Args) -> None: ...


async def with_mapping(ctx: JobContext, args: Mapping[str, Any]) -> None: ...


async def with_generator(ctx: JobContext, args: dict[str, Any]) -> AsyncIterator[Progress]:
    yield Progress()


def in_thread(ctx: JobContext, args: dict[str, Any]) -> None: ...


def sync_generator(ctx: JobContext, args: dict[str, Any]) -> Iterator[Progress]:
    yield Progress()


async def without_annotation(ctx: JobContext, args: Any) -> None: ...


async def without_args(ctx: JobContext) -> None: ...


def test_kind_and_args_follow_from_the_signature() -> None:
    registry = Registry()
    for handler in (with_model, with_mapping, with_generator, in_thread, sync_generator):
        registry.register(handler.__name__)(handler)
    assert [task.kind for task in registry.values()] == [
        "coroutine",
        "coroutine",
        "generator",
        "function",
        "sync generator",
    ]
    assert [task.args_model for task in registry.values()] == [Args, None, None, None, None]


def test_annotations_that_are_no_text_are_read_alike() -> None:
    """In modules without `from __future__ import annotations`."""

    async def handler(ctx: JobContext, args: object) -> None: ...

    registry = Registry()
    for name, annotation in (("model", Args), ("plain", dict), ("typed", dict[str, Any])):
        handler.__annotations__["args"] = annotation
        registry.register(name)(handler)
    assert [task.args_model for task in registry.values()] == [Args, None, None]


def test_args_that_do_not_fit_name_each_wrong_field() -> None:
    registry = Registry()
    registry.register("t")(with_model)
    assert registry["t"].parse_args({"seller_id": 7}) == Args(seller_id=7)
    with pytest.raises(InvalidArgs, match=r"args of task 't' do not fit: seller_id: .*; names\.0: "):
        registry["t"].parse_args({"seller_id": "x", "names": [1]})


def test_registering_refuses_what_cannot_be_run() -> None:
    registry = Registry()
    registry.register("t")(with_model)
    with pytest.raises(ValueError, match="registered twice"):
        registry.register("t")(with_mapping)
    with pytest.raises(TypeError, match=r"takes \(ctx, args\)"):
        registry.register("a")(without_args)
    with pytest.raises(TypeError, match="must annotate args"):
        registry.register("b")(without_annotation)
    registry.register("d", args=Args)(without_annotation)
    assert registry["d"].args_model is Args
