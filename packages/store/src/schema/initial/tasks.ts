// Defines the tables of tasks (A2A tasks, chats and runs) and of their subscribers.
export const taskSchema = `
-- response_seq: the last answer. share: the share of the owner's quota of open tasks to which the task counts, or NULL if there are no shares.
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
-- This index finds inactive tasks, the oldest first. Chats of people do not expire.
CREATE INDEX tasks_oldest ON tasks (updated_at)
  WHERE state NOT IN ('submitted', 'working') AND owner NOT GLOB 'web:*';
CREATE INDEX tasks_open ON tasks (owner) WHERE state IN ('submitted', 'working', 'input_required', 'auth_required');
CREATE INDEX tasks_open_shares ON tasks (owner, share)
  WHERE share IS NOT NULL AND state IN ('submitted', 'working', 'input_required', 'auth_required');

-- The totals of an owner: the bytes of all entries and attachments of the tasks, and the number of tasks.
CREATE TABLE task_bytes (
  owner TEXT NOT NULL,
  shard INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL,
  tasks INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (owner, shard)
) STRICT, WITHOUT ROWID;

-- The subscribers of a task. destination: the destination for operators. target: the data for the delivery, which may be secret.
CREATE TABLE push_subscriptions (
  task_id INTEGER NOT NULL REFERENCES tasks,
  id TEXT NOT NULL,
  destination TEXT NOT NULL,
  target TEXT NOT NULL,
  PRIMARY KEY (task_id, id)
) STRICT, WITHOUT ROWID;
`
