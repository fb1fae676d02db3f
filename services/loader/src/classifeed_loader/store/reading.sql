-- Reads of fetches for the gRPC service.

-- name: find_fetch
SELECT seller_id, namespace, feed_loader_result_id, feed_version, trigger, forced, outcome, code, message, http_status,
       bytes, sha256, final_url, task, created_at, started_at, downloaded_at, ended_at
FROM feed_fetches
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND feed_loader_result_id = %(fetch_id)s

-- name: list_fetches
SELECT seller_id, namespace, feed_loader_result_id, feed_version, trigger, forced, outcome, code, message, http_status,
       bytes, sha256, final_url, task, created_at, started_at, downloaded_at, ended_at
FROM feed_fetches
WHERE seller_id = %(seller_id)s AND namespace = %(namespace)s AND feed_loader_result_id < %(before)s
ORDER BY feed_loader_result_id DESC
LIMIT %(limit)s
