// Defines the tables of conversations, of their ids, and of the state that agents keep for them.
export const threadSchema = `
-- begun_by: the principal who began it, where others take part, too.
CREATE TABLE threads (
  id INTEGER PRIMARY KEY,
  agent TEXT NOT NULL,
  channel TEXT NOT NULL,
  scope TEXT NOT NULL,
  key TEXT NOT NULL,
  begun_by TEXT
) STRICT;
CREATE INDEX threads_begun_by ON threads (begun_by, agent) WHERE begun_by IS NOT NULL;
-- Conversations that not everybody may join, by who may.
CREATE INDEX threads_scope ON threads (lower(scope), channel, agent) WHERE scope <> 'public';

-- Every id something is known by, in one tree: a thread's key (is_key 1, one thread each), and the ids and aliases of what was
-- said in it (is_key 0). The ids of one message lie side by side, so that admitting it touches few pages. message: what
-- this is the id of, or what the agent's answer of this id answers.
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

-- scope: the thread's, where it is an owner's own.
CREATE TABLE agent_states (
  thread_id INTEGER NOT NULL REFERENCES threads,
  agent TEXT NOT NULL,
  state TEXT NOT NULL,
  scope TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (thread_id, agent)
) STRICT;
`
