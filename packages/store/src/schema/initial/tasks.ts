// Defines the tables of A2A tasks, chats and runs, which their owner may look up and cancel.
export const taskSchema = `
-- response_seq: the last answer. share: whose part of its owner's open tasks it takes; NULL: the owner's as a whole.
CREATE TABLE tasks (
  id INTEGER PRIMARY KEY,
  owner TEXT NOT NULL,
  native_id TEXT NOT NULL,
  agent TEXT NOT NULL,
  context TEXT NOT NULL,
  state TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  response_seq INTEGER,
  share TEXT,
  UNIQUE (owner, native_id)
) STRICT;
CREATE INDEX tasks_newest ON tasks (owner, updated_at, native_id, state, agent, context);
-- Tasks in which nothing happens any more, oldest first. Chats of people do not expire.
CREATE INDEX tasks_oldest ON tasks (updated_at)
  WHERE state NOT IN ('submitted', 'working') AND owner NOT GLOB 'web:*';
CREATE INDEX tasks_open ON tasks (owner) WHERE state IN ('submitted', 'working', 'input_required', 'auth_required');
CREATE INDEX tasks_open_shares ON tasks (owner, share)
  WHERE share IS NOT NULL AND state IN ('submitted', 'working', 'input_required', 'auth_required');

-- Totals of an owner: what was said in the tasks, in bytes, attachments as often as they came, and how many tasks there are.
CREATE TABLE task_bytes (
  owner TEXT NOT NULL,
  shard INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL,
  tasks INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (owner, shard)
) STRICT, WITHOUT ROWID;

-- Who is told what becomes of a task. destination: shown to the operator; target: how it is reached, which may be secret.
CREATE TABLE push_subscriptions (
  task_id INTEGER NOT NULL REFERENCES tasks,
  id TEXT NOT NULL,
  destination TEXT NOT NULL,
  target TEXT NOT NULL,
  PRIMARY KEY (task_id, id)
) STRICT, WITHOUT ROWID;
`
