/** Who is told what becomes of a task, and how many open ones an owner has. */
export const watchSchema = `
-- destination: shown to the operator; target: how it is reached, which may be secret.
CREATE TABLE task_watches (
  task_id INTEGER NOT NULL REFERENCES tasks,
  id TEXT NOT NULL,
  destination TEXT NOT NULL,
  target TEXT NOT NULL,
  PRIMARY KEY (task_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX tasks_open ON tasks (owner) WHERE state IN ('submitted', 'working', 'input_required');
`
