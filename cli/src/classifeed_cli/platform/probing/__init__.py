"""Whether the parts of an installation work: probed, examined, and watched."""
