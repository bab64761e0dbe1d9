// Defines the tables of messages, of their repetitions, and of the context that the gateway fetched for them.
export const messageSchema = `
-- One row for each thing that was said or happened, in its order. kind: 'message' (it came to an agent), 'response' (what the agent answered to it),
-- 'context' (said before a message that begins in the middle of a conversation, and fetched), 'note' (what an agent noted of its turn), or
-- 'removed' (the newest row, emptied, so that its seq is not given again). Only the scope 'conversation' is recalled; conversations/entries.ts
-- names the others. answers: the message that a response or a note belongs to, and that fetched context stands behind: what is said in between
-- does not come between them. Of a note, native_id is its name and content a line of the transcript. author: JSON, as it is shown.
--
-- Of a message alone: principal and object, whose words and of what, by which they are taken back; raw_digest, set when the bytes are in blobs.
-- A message whose author takes it back keeps its ids: its raw bytes go and forgotten_at is set.
-- trace: JSON of its way in (IntakeTrace). arrival: JSON of what came beside the raw bytes, without credentials; its channel reads them with it.
-- Of a response alone: is_listed, everybody may read it; rendering, what rendering it takes beside the message's target.
-- envelope: the message without parts, thread id and raw, or the response without parts. Long columns come last, so that the rest is read without
-- them, and raw comes behind all others.
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

-- What fetched context is known by. object: the id its author knows it by; principal: the author's, NULL once it is taken back.
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
