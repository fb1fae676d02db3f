"""Processes that decode: started, fed, watched, replaced."""
