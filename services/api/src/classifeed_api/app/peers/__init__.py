"""Sends feeds to the loader and tasks to the processor, and checks that they still have them."""
