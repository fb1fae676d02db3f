"""What the loader and the processor are sent of feeds and uploads, and the checks that they still have it."""
