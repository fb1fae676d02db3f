"""Values of protobuf enums in words, for logs and metrics."""

from __future__ import annotations

from functools import lru_cache

from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper


@lru_cache(maxsize=1024)
def name_of(enum: EnumTypeWrapper, number: int) -> str:
    """Return the name of a value in lower case, without that of its type: `succeeded` of TASK_STATUS_SUCCEEDED.

    Args:
        enum: such as `task_pb2.TaskStatus`.
        number: one that a newer version has sent is `unknown_<number>`.
    """
    names = {value: name for name, value in enum.items()}
    if number not in names:
        return f"unknown_{number}"
    prefix = next(name for name in names.values() if name.endswith("_UNSPECIFIED")).removesuffix("UNSPECIFIED")
    return names[number].removeprefix(prefix).lower()
