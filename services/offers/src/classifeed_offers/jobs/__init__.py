"""What runs in the background, as jobs of the job engine."""
