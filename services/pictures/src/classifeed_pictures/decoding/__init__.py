"""Decoding of pictures that nobody has checked: what they are, what is kept of them, and what they look like.

`processes.pool.DecodePool` is what a service uses; what it does and what it refuses is in `pipeline`, and ADR 0061 says
why it is so. Nothing is imported here: the process that decodes would load what only its pool needs, and takes half as
long to start without.
"""
