-- name: mark_damaged
-- Marks a live row as damaged. Compare and set of all columns read: the document may have been pushed again meanwhile.
UPDATE documents
   SET status = 3
 WHERE client = %(client)s AND hash = %(hash)s AND pk = %(pk)s AND status = 1 AND epoch = %(epoch)s
   AND version = %(version)s AND modify_timestamp = %(modify_timestamp)s AND compression = %(compression)s
   AND checksum IS NOT DISTINCT FROM %(checksum)s::bigint AND document = %(document)b
