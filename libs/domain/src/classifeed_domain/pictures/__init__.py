"""Contracts about pictures that several services share."""
