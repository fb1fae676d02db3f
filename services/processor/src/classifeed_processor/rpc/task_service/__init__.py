"""TaskService, which creates tasks and reads their outcomes, with one file per family of methods."""

from classifeed_processor.rpc.task_service.servicer import task_servicer

__all__ = ["task_servicer"]
