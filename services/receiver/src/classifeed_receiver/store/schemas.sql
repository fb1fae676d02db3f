-- name: lock_client
-- One change of a client's epochs at a time.
SELECT pg_advisory_xact_lock(hashtextextended('schemas/' || %(client)s, 0))

-- name: list_epochs
SELECT epoch, state, schema, create_time FROM schemas WHERE client = %(client)s ORDER BY epoch DESC

-- name: insert_epoch
INSERT INTO schemas (client, epoch, state, schema, create_time)
VALUES (%(client)s, %(epoch)s, %(state)s, %(schema)s, clock_timestamp())
RETURNING create_time

-- name: update_schema
UPDATE schemas SET schema = %(schema)s WHERE client = %(client)s AND epoch = %(epoch)s

-- name: list_clients
SELECT DISTINCT client FROM schemas ORDER BY client
