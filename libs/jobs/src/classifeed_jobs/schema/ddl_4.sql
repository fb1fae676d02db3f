-- The job tables, version 4 (ADR 0045): which caller of the job API made a job that has not ended. Jobs that services make
-- have none, and no entry in the index: they cost what they did.
ALTER TABLE dl_jobs ADD COLUMN made_by text;
CREATE INDEX dl_jobs_made_by ON dl_jobs (made_by) WHERE made_by IS NOT NULL;
