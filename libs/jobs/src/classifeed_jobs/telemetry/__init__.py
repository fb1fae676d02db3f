"""Traces and histograms of runs of jobs."""
