"""The HTTP face, version 1: routes for the server of a service, and the OpenAPI document that tells of them."""

from classifeed_jobs.faces.http.routes import job_routes

__all__ = ["job_routes"]
