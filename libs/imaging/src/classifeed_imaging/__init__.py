"""Decoding of untrusted pictures: their format, the bytes that are kept, and their hashes.

A service uses `processes.pool.DecodePool`. The steps and refusals are in `pipeline`, the reasons in ADR 0061. Nothing
is imported here: otherwise the decoding process would load modules that only the pool needs, and start slower.
"""
