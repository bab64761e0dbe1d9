// Defines the tables of conversations, of their ids, and of the state that agents keep for them.
export const threadSchema = `
-- begun_by: the principal who began the thread, if other people take part in it, too.
CREATE TABLE threads (
  id INTEGER PRIMARY KEY,
  agent TEXT NOT NULL,
  channel TEXT NOT NULL,
  scope TEXT NOT NULL,
  key TEXT NOT NULL,
  begun_by TEXT
) STRICT;
CREATE INDEX threads_begun_by ON threads (begun_by, agent) WHERE begun_by IS NOT NULL;
-- This index finds the private threads of a scope.
CREATE INDEX threads_scope ON threads (lower(scope), channel, agent) WHERE scope <> 'public';

-- All names in one table: the keys of threads (is_key 1, one thread for each key), and the ids and aliases of messages and answers
-- (is_key 0). The names of one message are adjacent, so that an admission writes few pages. message: the message with this id, or
-- the message whose answer has this id.
CREATE TABLE thread_aliases (
  name TEXT NOT NULL,
  agent TEXT NOT NULL,
  channel TEXT NOT NULL,
  scope TEXT NOT NULL,
  is_key INTEGER NOT NULL,
  thread_id INTEGER NOT NULL REFERENCES threads,
  message INTEGER REFERENCES messages,
  PRIMARY KEY (name, agent, channel, scope, is_key)
) STRICT, WITHOUT ROWID;

-- scope: the scope of a thread that belongs to one owner.
CREATE TABLE agent_states (
  thread_id INTEGER NOT NULL REFERENCES threads,
  agent TEXT NOT NULL,
  state TEXT NOT NULL,
  scope TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (thread_id, agent)
) STRICT;
`
