"""Backups of what is known of pictures, and how they are put back."""
