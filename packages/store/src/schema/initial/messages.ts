// Defines the tables of messages and other entries, of repeated messages, and of fetched context.
export const messageSchema = `
-- One row for each entry of a conversation, in the order of arrival. kind: 'message' (to an agent), 'response' (the answer of the agent),
-- 'context' (an earlier message that was fetched from a conversation that began elsewhere), 'note' (a note of a turn), or
-- 'removed' (the newest row after its deletion, so that its seq is not used again). The history of an agent contains only the scope
-- 'conversation'. StoredEntryScope in threads/entries.ts describes the other scopes. answers: the message to which a response or a note
-- belongs, or after which fetched context stands. It orders a conversation before seq does. For a note, native_id is its name and content is
-- an entry of the transcript. author: JSON for display.
--
-- Columns of messages only: principal and object identify the author and the object, such as a post, with which the author may delete the
-- message. raw_digest is set if the raw bytes are a blob. A deleted message keeps its ids, loses its raw bytes and gets forgotten_at.
-- trace: JSON of the intake (IntakeTrace). arrival: JSON of the facts that arrived besides the raw bytes, without credentials.
-- Columns of responses only: is_listed is 1 if everybody may read the response. rendering: the data that rendering needs besides the target
-- of the message.
-- envelope: the message without parts, thread id and raw, or the response without parts. Long columns come last, so that the other columns are
-- read without them, and raw is the last column.
CREATE TABLE messages (
  seq INTEGER PRIMARY KEY,
  entry_id TEXT NOT NULL,
  native_id TEXT,
  kind TEXT NOT NULL,
  scope TEXT NOT NULL,
  thread_id INTEGER NOT NULL REFERENCES threads,
  task_id INTEGER REFERENCES tasks,
  answers INTEGER REFERENCES messages,
  agent TEXT,
  channel TEXT,
  at TEXT NOT NULL,
  duplicate_key TEXT,
  fingerprint TEXT,
  correlation_id TEXT,
  principal TEXT,
  object TEXT,
  forgotten_at INTEGER,
  is_listed INTEGER NOT NULL DEFAULT 0,
  edited_at INTEGER,
  retracted_at INTEGER,
  raw_form TEXT,
  raw_digest TEXT,
  author TEXT NOT NULL,
  flags TEXT,
  rendering TEXT,
  target TEXT,
  proofs TEXT,
  trace TEXT,
  arrival TEXT,
  envelope TEXT,
  content TEXT NOT NULL,
  raw BLOB
) STRICT;
CREATE INDEX messages_conversation ON messages (thread_id, coalesce(answers, seq)) WHERE scope = 'conversation';
CREATE INDEX messages_gateway_replies ON messages (thread_id, coalesce(answers, seq)) WHERE scope = 'gateway_reply';
CREATE INDEX messages_notes ON messages (thread_id, answers, seq) WHERE scope = 'trace';
CREATE INDEX messages_task ON messages (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX messages_chat ON messages (thread_id) WHERE kind = 'message' AND channel = 'web';
CREATE UNIQUE INDEX messages_duplicate_key ON messages (duplicate_key, agent, channel) WHERE duplicate_key IS NOT NULL;
CREATE INDEX messages_principal ON messages (principal, object, channel) WHERE principal IS NOT NULL AND forgotten_at IS NULL;
CREATE UNIQUE INDEX messages_response ON messages (answers) WHERE kind = 'response';
CREATE INDEX messages_newest_responses ON messages (agent, channel) WHERE kind = 'response';
CREATE INDEX messages_listed_responses ON messages (agent, channel) WHERE kind = 'response' AND is_listed = 1;

CREATE TABLE duplicates (message INTEGER PRIMARY KEY REFERENCES messages, count INTEGER NOT NULL) STRICT;

-- The ids of fetched context. object: the author's id of the object. principal: the principal of the author, or NULL after a deletion.
CREATE TABLE fetched_context (
  seq INTEGER PRIMARY KEY REFERENCES messages,
  thread_id INTEGER NOT NULL REFERENCES threads,
  channel TEXT NOT NULL,
  object TEXT NOT NULL,
  principal TEXT,
  UNIQUE (object, thread_id)
) STRICT;
CREATE INDEX fetched_context_principal ON fetched_context (principal, object, channel) WHERE principal IS NOT NULL;
`
