// Defines the table of turns, with one turn for each message that an agent must answer.

/** The table of turns. The first open turn of a thread has `due_at`, and the others wait for it. */
export const turnSchema = `
-- crash_count: the number of consecutive attempts that neither committed nor released the turn. mode: 'merge' or 'interrupt', or NULL for a turn
-- in order. speaker: a digest of the sender, the authority and the audience. Only newer messages of the same speaker merge or interrupt a turn.
-- authorship: a digest of the author and the object of the message, with which an edit finds the turn. ready_at: the earliest time of the turn,
-- until which further messages of the speaker may be merged. merged_into: the later message whose turn also answers this message. revision: the
-- number of changes of the message. abort_count: the number of consecutive runs that were aborted by newer messages or edits. is_waiting: 1 while
-- the turn waits for another agent and uses no slot. trace: the attempts (TurnAttempt) as lines of JSON.
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
