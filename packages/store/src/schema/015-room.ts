/** How much everybody has stored, as running totals, and what deletes one chat without reading all messages. */
export const roomSchema = `
-- Of a thread what was written into it; what the store keeps is counted there.
ALTER TABLE transcript_threads ADD COLUMN entries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE transcript_threads ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE transcript_threads SET
  entries = (SELECT count(*) FROM transcript_entries e WHERE e.thread = transcript_threads.id AND e.body IS NOT NULL),
  bytes = (SELECT coalesce(sum(octet_length(e.body)), 0) FROM transcript_entries e WHERE e.thread = transcript_threads.id);
CREATE TABLE transcript_usage (
  owner TEXT PRIMARY KEY,
  threads INTEGER NOT NULL,
  entries INTEGER NOT NULL,
  bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO transcript_usage SELECT owner, count(*), sum(entries), sum(bytes) FROM transcript_threads GROUP BY owner;

-- How many tasks the owner has.
ALTER TABLE task_bytes ADD COLUMN tasks INTEGER NOT NULL DEFAULT 0;
INSERT INTO task_bytes (owner, bytes, tasks) SELECT owner, 0, count(*) FROM tasks WHERE true GROUP BY owner
  ON CONFLICT DO UPDATE SET tasks = excluded.tasks;

CREATE INDEX messages_chat ON messages (thread_id) WHERE via = 'web';

-- What was handled is known by its id when it is read in again.
INSERT OR IGNORE INTO transcript_names (thread, name, seq)
  SELECT t.thread, json_array('normalized', e.native_id), t.seq FROM transcript_entries t JOIN entries e ON e.seq = t.store_seq
  WHERE t.entry_id = 'desk-' || t.store_seq AND e.native_id IS NOT NULL;
`
