"""Dashboards for Grafana, made from a description of their panels."""
