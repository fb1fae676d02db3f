"""What the author of a task uses: the registry, the context of a run, slices and pipelines."""
