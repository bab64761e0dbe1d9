export const laneSchema = `
-- What may be used once, by SHA-256, until its time (ms) is over.
CREATE TABLE used_keys (digest BLOB PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX used_keys_oldest ON used_keys (until);
`
