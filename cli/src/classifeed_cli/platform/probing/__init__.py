"""Health of an installation: probes, examination, and a periodic watch."""
