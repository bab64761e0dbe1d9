/** Conversations as they are read and written by the dialects of the transcript. */
export const transcriptSchema = `
CREATE TABLE transcript_threads (
  id INTEGER PRIMARY KEY,
  thread_id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  -- Places given so far: to all entries, and to those visible in the chat.
  last_seq INTEGER NOT NULL DEFAULT 0,
  last_chat_seq INTEGER NOT NULL DEFAULT 0,
  fences INTEGER NOT NULL DEFAULT 0,
  lock_token TEXT,
  lock_until INTEGER
) STRICT;

CREATE INDEX transcript_threads_owner ON transcript_threads (owner);

-- What its owner, or a dialect, calls a thread; place: in which order the names came.
CREATE TABLE transcript_aliases (
  place INTEGER PRIMARY KEY,
  owner TEXT NOT NULL,
  transport TEXT NOT NULL,
  key TEXT NOT NULL,
  thread INTEGER NOT NULL REFERENCES transcript_threads,
  UNIQUE (owner, transport, key)
) STRICT;
CREATE INDEX transcript_aliases_thread ON transcript_aliases (thread);

-- body: the entry without its places; NULL for a piece of what the store keeps (store_seq), which is read from there.
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
CREATE INDEX transcript_entries_group ON transcript_entries (thread, group_id) WHERE group_id IS NOT NULL;

-- By what an entry is known within its thread: its id, and its writer's id in the dialect it came in.
CREATE TABLE transcript_names (
  thread INTEGER NOT NULL REFERENCES transcript_threads,
  name TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (thread, name)
) STRICT, WITHOUT ROWID;

-- Conversations of the store that are part of a thread. place: from where on there may be what the thread does not have yet.
CREATE TABLE transcript_bindings (
  thread INTEGER NOT NULL REFERENCES transcript_threads,
  store_thread INTEGER NOT NULL REFERENCES threads,
  place INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (thread, store_thread)
) STRICT, WITHOUT ROWID;
CREATE INDEX transcript_bindings_store ON transcript_bindings (store_thread);

-- Small records beside the transcript: rows of sessions, pending actions, the state of a swarm. place: in which order they first came.
-- message: with which one of the store it goes. person: of whom it is, via @local@domain. goes_at: from when on nobody needs it.
CREATE TABLE records (
  place INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  owner TEXT NOT NULL,
  key TEXT NOT NULL,
  version INTEGER NOT NULL,
  value TEXT NOT NULL,
  message INTEGER,
  person TEXT,
  goes_at INTEGER,
  UNIQUE (kind, owner, key)
) STRICT;
CREATE INDEX records_owner ON records (owner, kind, place);
CREATE INDEX records_message ON records (message) WHERE message IS NOT NULL;
CREATE INDEX records_person ON records (person) WHERE person IS NOT NULL;
CREATE INDEX records_goes_at ON records (goes_at) WHERE goes_at IS NOT NULL;

-- Chats of people do not expire.
DROP INDEX tasks_oldest;
CREATE INDEX tasks_oldest ON tasks (updated_at)
  WHERE state NOT IN ('submitted', 'working') AND owner NOT GLOB 'web:*';

-- Files of people. bytes: NULL when they are kept elsewhere.
CREATE TABLE objects (
  id INTEGER PRIMARY KEY,
  bucket TEXT NOT NULL,
  path TEXT NOT NULL,
  owner TEXT NOT NULL,
  mime TEXT NOT NULL,
  size INTEGER NOT NULL,
  digest TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  bytes BLOB,
  UNIQUE (bucket, path)
) STRICT;
CREATE INDEX objects_owner ON objects (owner, digest);
`
