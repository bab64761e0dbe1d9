/** What was said, once. */
export const messageSchema = `
-- seq is the order; a message's number is the seq of its entry. Only the scope 'conversation' is recalled; conversations/entries.ts names the
-- others. answers: the message this answers. In a conversation an answer stands behind it, whatever was said meanwhile. Of the scope
-- 'trace' (a note of a turn) native_id is the note's name and content a line of the transcript.
CREATE TABLE entries (
  seq INTEGER PRIMARY KEY,
  entry_id TEXT NOT NULL,
  native_id TEXT,
  thread_id INTEGER NOT NULL REFERENCES threads,
  task_id INTEGER REFERENCES tasks,
  scope TEXT NOT NULL,
  role TEXT NOT NULL,
  answers INTEGER,
  author TEXT NOT NULL,
  content TEXT NOT NULL,
  at TEXT NOT NULL
) STRICT;
CREATE INDEX entries_conversation ON entries (thread_id, coalesce(answers, seq)) WHERE scope = 'conversation';
CREATE INDEX entries_gateway_replies ON entries (thread_id, coalesce(answers, seq)) WHERE scope = 'gateway_reply';
CREATE INDEX entries_trace ON entries (thread_id, answers, seq) WHERE scope = 'trace';
CREATE INDEX entries_task ON entries (task_id) WHERE task_id IS NOT NULL;

-- Entries that came with no message: what was said before one that begins in the middle of a conversation. object: the id its author
-- knows it by; author: the author's principal, NULL once it is taken back.
CREATE TABLE fetched_context (
  seq INTEGER PRIMARY KEY REFERENCES entries,
  thread_id INTEGER NOT NULL REFERENCES threads,
  channel TEXT NOT NULL,
  object TEXT NOT NULL,
  author TEXT,
  UNIQUE (object, thread_id)
) STRICT;
CREATE INDEX fetched_context_author ON fetched_context (author, object, channel) WHERE author IS NOT NULL;

-- envelope: the message without parts, thread id and raw. author, object: whose words, and of what; what is taken back is found by
-- these. raw_digest: set when the bytes are in blobs. raw comes last, so that the rest is read without it. A message whose author takes it
-- back keeps its ids: its raw bytes go and forgotten_at is set.
CREATE TABLE messages (
  number INTEGER PRIMARY KEY REFERENCES entries,
  id TEXT NOT NULL,
  agent TEXT NOT NULL,
  channel TEXT NOT NULL,
  thread_id INTEGER NOT NULL REFERENCES threads,
  task_id INTEGER REFERENCES tasks,
  duplicate_key TEXT NOT NULL,
  fingerprint TEXT,
  correlation_id TEXT NOT NULL,
  author TEXT,
  object TEXT,
  forgotten_at INTEGER,
  envelope TEXT NOT NULL,
  proofs TEXT NOT NULL,
  flags TEXT,
  target TEXT NOT NULL,
  raw_form TEXT NOT NULL,
  raw_digest TEXT,
  raw BLOB,
  UNIQUE (duplicate_key, agent, channel)
) STRICT;
CREATE INDEX messages_author ON messages (author, object, channel) WHERE author IS NOT NULL AND forgotten_at IS NULL;
CREATE INDEX messages_chat ON messages (thread_id) WHERE channel = 'web';

CREATE TABLE duplicates (message INTEGER PRIMARY KEY REFERENCES messages, count INTEGER NOT NULL) STRICT;

-- is_listed: everybody may read it. rendering: what rendering it takes beside the message's target.
CREATE TABLE responses (
  seq INTEGER PRIMARY KEY REFERENCES entries,
  message INTEGER NOT NULL UNIQUE REFERENCES messages,
  id TEXT NOT NULL,
  agent TEXT NOT NULL,
  channel TEXT NOT NULL,
  envelope TEXT NOT NULL,
  is_listed INTEGER NOT NULL DEFAULT 0,
  rendering TEXT,
  edited_at INTEGER,
  retracted_at INTEGER
) STRICT;
CREATE INDEX responses_newest ON responses (agent, channel);
CREATE INDEX responses_listed ON responses (agent, channel) WHERE is_listed = 1;
`
