/** Machines share the quota of a thread; of those who are only swift each has a quota of his own. */
export const quotaSchema = `
DROP TABLE turn_quotas;
-- author: '' for all machines of the thread.
CREATE TABLE turn_quotas (
  thread_id INTEGER NOT NULL REFERENCES threads,
  author TEXT NOT NULL,
  began_at INTEGER NOT NULL,
  used INTEGER NOT NULL,
  PRIMARY KEY (thread_id, author)
) STRICT, WITHOUT ROWID;
`
