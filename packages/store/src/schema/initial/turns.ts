// Defines the table of turns: one for each message that an agent is to answer.

/** The table of turns. The first of the open turns of a thread has `due_at`, and the others wait for it. */
export const turnSchema = `
-- crash_count: attempts in a row that neither committed nor gave back. mode: 'merge' or 'interrupt'; NULL: in its order. speaker: digest of
-- who speaks, with what authority and before whom; one speaker's messages alone are merged or interrupted by a newer one of that speaker.
-- authorship: digest of whose words it answers and of what, by which an edit finds the turn it changes. ready_at: not before this time; what
-- the same speaker says meanwhile is handled with it. merged_into: the message whose turn answers this one, too, a later one of the thread.
-- revision: how often its words have changed. abort_count: runs in a row that were broken off for it, or for other words of it.
-- is_waiting: it waits for another agent and takes no slot. trace: its attempts (TurnAttempt), JSON, one a line.
CREATE TABLE turns (
  message INTEGER PRIMARY KEY REFERENCES messages,
  agent TEXT NOT NULL,
  thread_id INTEGER NOT NULL REFERENCES threads,
  task_id INTEGER REFERENCES tasks,
  state TEXT NOT NULL,
  due_at INTEGER,
  lease_token INTEGER NOT NULL DEFAULT 0,
  lease_owner TEXT,
  attempt INTEGER NOT NULL DEFAULT 0,
  crash_count INTEGER NOT NULL DEFAULT 0,
  mode TEXT,
  speaker TEXT,
  authorship TEXT,
  ready_at INTEGER,
  merged_into INTEGER,
  revision INTEGER NOT NULL DEFAULT 0,
  abort_count INTEGER NOT NULL DEFAULT 0,
  is_waiting INTEGER NOT NULL DEFAULT 0,
  ended_at INTEGER,
  error TEXT,
  trace TEXT
) STRICT;
CREATE INDEX turns_due ON turns (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX turns_open ON turns (thread_id) WHERE ended_at IS NULL;
CREATE INDEX turns_task ON turns (task_id) WHERE task_id IS NOT NULL AND ended_at IS NULL;
CREATE INDEX turns_merged ON turns (merged_into) WHERE merged_into IS NOT NULL;
CREATE INDEX turns_speaker ON turns (thread_id, speaker) WHERE speaker IS NOT NULL AND ended_at IS NULL;
CREATE INDEX turns_authorship ON turns (authorship) WHERE authorship IS NOT NULL AND ended_at IS NULL;
CREATE INDEX turns_leased ON turns (agent, lease_owner, due_at, is_waiting) WHERE lease_owner IS NOT NULL;
`
