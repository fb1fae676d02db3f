"""TaskService, which makes tasks and reads what became of them: a file for each family of its methods."""

from classifeed_processor.rpc.task_service.servicer import task_servicer

__all__ = ["task_servicer"]
