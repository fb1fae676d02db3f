"""The HTTP API, version 1: routes for the server of a service, and their OpenAPI document."""

from classifeed_jobs.api.http.responses import Info
from classifeed_jobs.api.http.routes import job_routes

__all__ = ["Info", "job_routes"]
