"""Decoding processes: started, fed, watched and replaced."""
