"""What every HTTP API of the suite is made of: operations, and who may request them, how often and how much at once.

An API is a table of operations (`operations`), served by one middleware (`middleware`) that finds out who calls
(`callers`), limits requests (`request_limits`) and bodies (`bodies`), checks values (`checking`), writes the audit log
and metrics, and responds to errors with problem documents; `openapi` describes it and `routes` serves it (ADR 0050).
"""
