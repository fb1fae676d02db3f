"""All SQL of the job engine: `ddl_<version>.sql` for migrations, `jobs.sql` for callers, `claims.sql` for workers."""
