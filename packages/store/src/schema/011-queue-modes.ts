/** How the turns of a thread share its line: each in its order, several as one, or the newest instead of the others. */
export const queueModeSchema = `
-- 'merge' or 'interrupt'; NULL: in its order.
ALTER TABLE turns ADD COLUMN mode TEXT;
-- Digest of who speaks, with what authority and before whom: only what one speaker says is put together or cut off by himself.
ALTER TABLE turns ADD COLUMN speaker TEXT;
-- Digest of whose words it answers and of what: by it an edit finds the turn it changes.
ALTER TABLE turns ADD COLUMN words TEXT;
-- Not before this time: what the same speaker says meanwhile is handled with it.
ALTER TABLE turns ADD COLUMN ready_at INTEGER;
-- The message whose turn answers this one, too: a later one of the same thread.
ALTER TABLE turns ADD COLUMN merged_into INTEGER;
-- How often its words have changed.
ALTER TABLE turns ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
-- Runs in a row that were broken off for it, or for other words of it.
ALTER TABLE turns ADD COLUMN aborts INTEGER NOT NULL DEFAULT 0;
-- It waits for another agent and takes no slot.
ALTER TABLE turns ADD COLUMN is_waiting INTEGER NOT NULL DEFAULT 0;
CREATE INDEX turns_merged ON turns (merged_into) WHERE merged_into IS NOT NULL;
CREATE INDEX turns_speaker ON turns (thread_id, speaker) WHERE speaker IS NOT NULL AND ended_at IS NULL;
CREATE INDEX turns_words ON turns (words) WHERE words IS NOT NULL AND ended_at IS NULL;
CREATE INDEX turns_held ON turns (agent, holder, due_at, is_waiting) WHERE holder IS NOT NULL;

-- What may be used once, by SHA-256, until its time (ms) is over.
CREATE TABLE used_keys (digest BLOB PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX used_keys_oldest ON used_keys (until);

-- Whose share of its owner's open tasks it takes; NULL: the owner's as a whole.
ALTER TABLE tasks ADD COLUMN share TEXT;
CREATE INDEX tasks_open_shares ON tasks (owner, share)
  WHERE share IS NOT NULL AND state IN ('submitted', 'working', 'input_required', 'auth_required');
-- What was said in the tasks of an owner, in bytes, attachments as often as they came.
CREATE TABLE task_bytes (owner TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
ALTER TABLE blob_uses ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
-- Of what was attached before, the size of files is not known here; it is not missed later.
UPDATE blob_uses SET bytes = coalesce((SELECT octet_length(b.bytes) FROM blobs b WHERE b.digest = blob_uses.digest), 0)
  WHERE message IN (SELECT seq FROM entries WHERE task_id IS NOT NULL);
INSERT INTO task_bytes SELECT k.owner, sum(octet_length(e.content)
    + coalesce((SELECT octet_length(m.raw) FROM messages m WHERE m.number = e.seq), 0)
    + coalesce((SELECT sum(u.bytes) FROM blob_uses u WHERE u.message = e.seq), 0))
  FROM tasks k JOIN entries e ON e.task_id = k.id GROUP BY k.owner;
`
