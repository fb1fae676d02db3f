"""The job tables: their SQL for migrations, their place, and what keeps lock keys moving."""
