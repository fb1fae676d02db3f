"""Names of protobuf enum values, for logs and metrics."""

from __future__ import annotations

from functools import lru_cache

from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper


@lru_cache(maxsize=1024)
def name_of(enum: EnumTypeWrapper, number: int) -> str:
    """Return the name of a value in lower case without its type's prefix: `succeeded` for TASK_STATUS_SUCCEEDED.

    Args:
        enum: enum type, such as `task_pb2.TaskStatus`.
        number: value; one that only a newer version knows becomes `unknown_<number>`.
    """
    names = {value: name for name, value in enum.items()}
    if number not in names:
        return f"unknown_{number}"
    prefix = next(name for name in names.values() if name.endswith("_UNSPECIFIED")).removesuffix("UNSPECIFIED")
    return names[number].removeprefix(prefix).lower()
