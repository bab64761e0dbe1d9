/**
 * The first schema. Conventions: every time is ms since the epoch; text columns named after a member of the contract hold its
 * JSON; `due_at` is set only on work that may be taken up (ready, leased or waiting for its time), so one small partial
 * index serves every claim; `ended_at` is set once work is over.
 */
export const storeSchema = `
CREATE TABLE threads (
  id INTEGER PRIMARY KEY,
  agent TEXT NOT NULL,
  via TEXT NOT NULL,
  scope TEXT NOT NULL,
  key TEXT NOT NULL
) STRICT;

-- Every id something is known by, in one tree: a thread's key (is_key 1, one thread each), and the ids and aliases of what was
-- said in it (is_key 0). The ids of one message lie side by side, so that admitting it touches few pages. message: what
-- this is the id of, or what our answer of this id answers.
CREATE TABLE names (
  name TEXT NOT NULL,
  agent TEXT NOT NULL,
  via TEXT NOT NULL,
  scope TEXT NOT NULL,
  is_key INTEGER NOT NULL,
  thread_id INTEGER NOT NULL REFERENCES threads,
  message INTEGER REFERENCES messages,
  PRIMARY KEY (name, agent, via, scope, is_key)
) STRICT, WITHOUT ROWID;

CREATE TABLE tasks (
  id INTEGER PRIMARY KEY,
  owner TEXT NOT NULL,
  native_id TEXT NOT NULL,
  agent TEXT NOT NULL,
  context TEXT NOT NULL,
  state TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  -- seq of the last answer
  response_seq INTEGER,
  UNIQUE (owner, native_id)
) STRICT;
CREATE INDEX tasks_newest ON tasks (owner, updated_at, native_id, state, agent, context);

-- The transcript: what was said, once. seq is the order; a message's number is the seq of its entry.
CREATE TABLE entries (
  seq INTEGER PRIMARY KEY,
  entry_id TEXT NOT NULL,
  native_id TEXT,
  thread_id INTEGER NOT NULL REFERENCES threads,
  task_id INTEGER REFERENCES tasks,
  -- 'conversation', or 'kept' for what the agent never sees
  scope TEXT NOT NULL,
  role TEXT NOT NULL,
  -- the message this answers: in a conversation an answer stands behind it, whatever was said meanwhile
  answers INTEGER,
  author TEXT NOT NULL,
  content TEXT NOT NULL,
  at TEXT NOT NULL
) STRICT;
CREATE INDEX entries_conversation ON entries (thread_id, coalesce(answers, seq)) WHERE scope = 'conversation';
CREATE INDEX entries_task ON entries (task_id) WHERE task_id IS NOT NULL;

-- Never updated. envelope: the message without parts, thread id and raw. raw comes last, so that the rest is read without it.
CREATE TABLE messages (
  number INTEGER PRIMARY KEY REFERENCES entries,
  id TEXT NOT NULL,
  agent TEXT NOT NULL,
  via TEXT NOT NULL,
  thread_id INTEGER NOT NULL REFERENCES threads,
  task_id INTEGER REFERENCES tasks,
  duplicate_key TEXT NOT NULL,
  fingerprint TEXT,
  correlation_id TEXT NOT NULL,
  envelope TEXT NOT NULL,
  proofs TEXT NOT NULL,
  flags TEXT,
  target TEXT NOT NULL,
  raw_form TEXT NOT NULL,
  -- set when the bytes are in blobs
  raw_digest TEXT,
  raw BLOB,
  UNIQUE (duplicate_key, agent, via)
) STRICT;

CREATE TABLE duplicates (message INTEGER PRIMARY KEY REFERENCES messages, count INTEGER NOT NULL) STRICT;

CREATE TABLE blobs (digest TEXT NOT NULL UNIQUE, mime TEXT, bytes BLOB NOT NULL) STRICT;

-- One per message that is to be answered. Of the open turns of a thread the first has due_at, the others wait for it.
CREATE TABLE turns (
  message INTEGER PRIMARY KEY REFERENCES messages,
  agent TEXT NOT NULL,
  thread_id INTEGER NOT NULL REFERENCES threads,
  task_id INTEGER REFERENCES tasks,
  state TEXT NOT NULL,
  due_at INTEGER,
  token INTEGER NOT NULL DEFAULT 0,
  attempt INTEGER NOT NULL DEFAULT 0,
  -- tries in a row that neither committed nor gave back
  unended INTEGER NOT NULL DEFAULT 0,
  holder TEXT,
  ended_at INTEGER,
  error TEXT
) STRICT;
CREATE INDEX turns_due ON turns (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX turns_lane ON turns (thread_id) WHERE ended_at IS NULL;
CREATE INDEX turns_task ON turns (task_id) WHERE task_id IS NOT NULL AND ended_at IS NULL;

CREATE TABLE responses (
  seq INTEGER PRIMARY KEY REFERENCES entries,
  message INTEGER NOT NULL UNIQUE REFERENCES messages,
  id TEXT NOT NULL,
  agent TEXT NOT NULL,
  via TEXT NOT NULL,
  envelope TEXT NOT NULL
) STRICT;
CREATE INDEX responses_newest ON responses (agent, via);

-- Of the open deliveries to one destination in one thread exactly one has due_at, the others wait for it.
CREATE TABLE deliveries (
  number INTEGER PRIMARY KEY,
  message INTEGER NOT NULL REFERENCES messages,
  response_seq INTEGER REFERENCES responses,
  thread_id INTEGER NOT NULL REFERENCES threads,
  destination TEXT NOT NULL,
  -- of a destination that is a URL
  host TEXT,
  target TEXT NOT NULL,
  state TEXT NOT NULL,
  due_at INTEGER,
  token INTEGER NOT NULL DEFAULT 0,
  attempt INTEGER NOT NULL DEFAULT 0,
  holder TEXT,
  queued_at INTEGER NOT NULL,
  ended_at INTEGER,
  last_error TEXT,
  note TEXT,
  wire TEXT
) STRICT;
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_lane ON deliveries (thread_id, destination, due_at) WHERE ended_at IS NULL;
CREATE INDEX deliveries_message ON deliveries (message);
CREATE INDEX deliveries_dead ON deliveries (number) WHERE state = 'dead';

CREATE TABLE agent_states (
  thread_id INTEGER NOT NULL REFERENCES threads,
  agent TEXT NOT NULL,
  state TEXT NOT NULL,
  PRIMARY KEY (thread_id, agent)
) STRICT;

CREATE TABLE secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE refusals (
  place INTEGER PRIMARY KEY,
  at TEXT NOT NULL,
  via TEXT NOT NULL,
  peer TEXT NOT NULL,
  code TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT;

-- Running totals, so that a scrape of the metrics counts nothing.
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`
