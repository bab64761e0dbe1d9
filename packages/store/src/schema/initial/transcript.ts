// Defines the tables of transcript threads and of small records.
export const transcriptSchema = `
-- last_seq, last_chat_seq: the last position of all entries, and of the entries that are visible in the chat. entries, bytes: the totals of
-- the entries that were written into the thread. Messages of the store are counted by the store.
CREATE TABLE transcript_threads (
  id INTEGER PRIMARY KEY,
  thread_id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  last_seq INTEGER NOT NULL DEFAULT 0,
  last_chat_seq INTEGER NOT NULL DEFAULT 0,
  entries INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  fences INTEGER NOT NULL DEFAULT 0,
  lock_token TEXT,
  lock_expires_at INTEGER
) STRICT;
CREATE INDEX transcript_threads_owner ON transcript_threads (owner);

-- The totals of an owner's threads.
CREATE TABLE transcript_usage (
  owner TEXT NOT NULL,
  shard INTEGER NOT NULL DEFAULT 0,
  threads INTEGER NOT NULL,
  entries INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (owner, shard)
) STRICT, WITHOUT ROWID;

-- The names of a thread, from its owner or from a dialect, in the order in which they were added.
CREATE TABLE transcript_aliases (
  id INTEGER PRIMARY KEY,
  owner TEXT NOT NULL,
  transport TEXT NOT NULL,
  key TEXT NOT NULL,
  thread INTEGER NOT NULL REFERENCES transcript_threads,
  UNIQUE (owner, transport, key)
) STRICT;
CREATE INDEX transcript_aliases_thread ON transcript_aliases (thread);

-- body: the entry without its positions. It is NULL for a piece of the message store_seq, which is read from the store.
CREATE TABLE transcript_entries (
  id INTEGER PRIMARY KEY,
  thread INTEGER NOT NULL REFERENCES transcript_threads,
  seq INTEGER NOT NULL,
  chat_seq INTEGER,
  entry_id TEXT NOT NULL,
  scope TEXT NOT NULL,
  kind TEXT NOT NULL,
  role TEXT NOT NULL,
  agent_key TEXT,
  group_id TEXT,
  body TEXT,
  store_seq INTEGER,
  piece INTEGER,
  UNIQUE (thread, seq)
) STRICT;
CREATE INDEX transcript_entries_store ON transcript_entries (thread, store_seq) WHERE store_seq IS NOT NULL;
CREATE INDEX transcript_entries_chat ON transcript_entries (thread, chat_seq) WHERE chat_seq IS NOT NULL;
CREATE INDEX transcript_entries_scope ON transcript_entries (thread, scope, seq);
CREATE INDEX transcript_entries_agent ON transcript_entries (thread, agent_key, seq) WHERE agent_key IS NOT NULL;
CREATE INDEX transcript_entries_group ON transcript_entries (thread, group_id, seq) WHERE group_id IS NOT NULL;

-- The names of an entry within its thread: its id, and the writer's id in the dialect of the entry.
CREATE TABLE transcript_entry_names (
  thread INTEGER NOT NULL REFERENCES transcript_threads,
  name TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (thread, name)
) STRICT, WITHOUT ROWID;

-- The conversations of the store that are part of a thread. position: the position from which there may be new entries. reader: a JSON list of
-- principals, if the thread has only their messages and the answers to them. NULL: the thread has the whole conversation.
CREATE TABLE transcript_bindings (
  thread INTEGER NOT NULL REFERENCES transcript_threads,
  store_thread INTEGER NOT NULL REFERENCES threads,
  position INTEGER NOT NULL DEFAULT 0,
  reader TEXT,
  PRIMARY KEY (thread, store_thread)
) STRICT, WITHOUT ROWID;
CREATE INDEX transcript_bindings_store ON transcript_bindings (store_thread);

-- Small records besides the transcript, such as rows of sessions, pending actions and the state of a swarm, in the order of their insertion.
-- message: the message with which the record is deleted. person: the key of the person to whom the record belongs. After expires_at the
-- record is deleted.
CREATE TABLE records (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  owner TEXT NOT NULL,
  key TEXT NOT NULL,
  version INTEGER NOT NULL,
  value TEXT NOT NULL,
  message INTEGER,
  person TEXT,
  expires_at INTEGER,
  UNIQUE (kind, owner, key)
) STRICT;
CREATE INDEX records_owner ON records (owner, kind, id);
CREATE INDEX records_message ON records (message) WHERE message IS NOT NULL;
CREATE INDEX records_person ON records (person) WHERE person IS NOT NULL;
CREATE INDEX records_expiry ON records (expires_at) WHERE expires_at IS NOT NULL;
`
