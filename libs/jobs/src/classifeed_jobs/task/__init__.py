"""The API for authors of tasks: the registry, the context of a run, slices and pipelines."""
