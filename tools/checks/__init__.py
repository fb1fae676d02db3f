"""Checks of sources and protos: breaking changes, prose, reasons of errors, rows that are read by position."""
