"""Timing of loops: waits that an event ends, linger, repeated rounds, and yielding to other coroutines."""
