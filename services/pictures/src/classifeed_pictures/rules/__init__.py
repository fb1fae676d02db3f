"""The packaged rules of canonical URLs, and the schema of such files."""
