// Defines the tables of blobs, of files of owners, and of secrets.
export const blobSchema = `
-- is_file: 1 if the bytes are in a file beside the database, because they are large. The column bytes is then empty.
CREATE TABLE blobs (digest TEXT NOT NULL UNIQUE, mime TEXT, bytes BLOB NOT NULL, is_file INTEGER NOT NULL DEFAULT 0) STRICT;

-- The messages that use a blob. bytes: the size of the blob.
CREATE TABLE blob_uses (
  message INTEGER NOT NULL REFERENCES messages,
  digest TEXT NOT NULL,
  bytes INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (message, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_uses_digest ON blob_uses (digest);

-- The files of owners. bytes: NULL if an outside storage has them.
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

-- The secrets of the gateway. The first stored value of a secret counts.
CREATE TABLE secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
`
