"""Topics: declared, made in the cluster, and grown."""
