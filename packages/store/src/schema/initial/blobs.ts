// Defines the tables of stored bytes, of named files, and of secrets.
export const blobSchema = `
-- is_file: they are large and lie in a file beside the database; the row holds none.
CREATE TABLE blobs (digest TEXT NOT NULL UNIQUE, mime TEXT, bytes BLOB NOT NULL, is_file INTEGER NOT NULL DEFAULT 0) STRICT;

-- Which messages need which bytes, and how many these are.
CREATE TABLE blob_uses (
  message INTEGER NOT NULL REFERENCES messages,
  digest TEXT NOT NULL,
  bytes INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (message, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_uses_digest ON blob_uses (digest);

-- Files of people. bytes: NULL when they are kept elsewhere.
CREATE TABLE objects (
  id INTEGER PRIMARY KEY,
  bucket TEXT NOT NULL,
  path TEXT NOT NULL,
  owner TEXT NOT NULL,
  mime TEXT NOT NULL,
  size INTEGER NOT NULL,
  digest TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  bytes BLOB,
  UNIQUE (bucket, path)
) STRICT;
CREATE INDEX objects_owner ON objects (owner, digest);

CREATE TABLE secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
`
