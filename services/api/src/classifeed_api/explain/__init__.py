"""Explains the timeline of an offer: facts go in, an explanation comes out; no I/O."""
