"""Building blocks of HTTP APIs: operations, callers, and limits.

An API is a table of operations (`operations`), served by one middleware (`middleware`; ADR 0050). The middleware
authenticates callers (`callers`), limits requests (`request_limits`) and bodies (`bodies`), and checks values
(`checking`). It writes the audit log and metrics, and turns errors into problem documents. `openapi` describes the
operations, and `routes` adds them to a server.
"""
