// Adds the totals of stored bytes of each sender, and the columns of attachments that are stored within raw bytes.

const sizeOf = (row: 'NEW' | 'OLD') =>
  `octet_length(${row}.content) + coalesce(octet_length(${row}.raw), 0) + coalesce(octet_length(${row}.envelope), 0) + coalesce(octet_length(${row}.arrival), 0)`

/** Adds `bytes` to the sender's total. The bytes of a sender without proof also count in the total of all such senders. */
const addBytes = (row: 'NEW' | 'OLD', bytes: string) => `
  INSERT INTO stored_bytes (owner, bytes) VALUES (${row}.stored_by, ${bytes})
    ON CONFLICT (owner, shard) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;
  INSERT INTO stored_bytes (owner, bytes) SELECT 'unproven', ${bytes} WHERE substr(${row}.stored_by, 1, 1) = 'u'
    ON CONFLICT (owner, shard) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;`

const deleteZeroTotals = `
  DELETE FROM stored_bytes WHERE owner = OLD.stored_by AND shard = 0 AND bytes = 0;`

const messageSizeSql = { inserted: sizeOf('NEW'), removed: `-(${sizeOf('OLD')})` }

export const addStoredBytes = `
-- The sender for whom the bytes count: 'u:' (unproven) or 'p:' (proven) and a digest of the sender, or NULL for nobody.
ALTER TABLE messages ADD COLUMN stored_by TEXT;

-- part_encoding: 'base64' or 'identity' if the bytes are not a separate blob, but are in the raw bytes from part_start to part_end.
ALTER TABLE blob_uses ADD COLUMN stored_by TEXT;
ALTER TABLE blob_uses ADD COLUMN part_encoding TEXT;
ALTER TABLE blob_uses ADD COLUMN part_start INTEGER;
ALTER TABLE blob_uses ADD COLUMN part_end INTEGER;
ALTER TABLE blob_uses ADD COLUMN part_mime TEXT;

-- The stored bytes of each sender, and of all unproven senders ('unproven').
CREATE TABLE stored_bytes (
  owner TEXT NOT NULL,
  shard INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (owner, shard)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER messages_stored AFTER INSERT ON messages WHEN NEW.stored_by IS NOT NULL BEGIN${addBytes('NEW', messageSizeSql.inserted)}
END;
CREATE TRIGGER messages_resized AFTER UPDATE OF stored_by, content, raw, envelope, arrival ON messages WHEN OLD.stored_by IS NOT NULL BEGIN${addBytes(
  'OLD',
  `CASE WHEN NEW.stored_by IS NULL THEN 0 ELSE ${messageSizeSql.inserted} END - (${sizeOf('OLD')})`,
)}${deleteZeroTotals}
END;
CREATE TRIGGER messages_gone AFTER DELETE ON messages WHEN OLD.stored_by IS NOT NULL BEGIN${addBytes('OLD', messageSizeSql.removed)}${deleteZeroTotals}
END;
CREATE TRIGGER blob_uses_stored AFTER INSERT ON blob_uses WHEN NEW.stored_by IS NOT NULL BEGIN${addBytes('NEW', 'NEW.bytes')}
END;
CREATE TRIGGER blob_uses_resized AFTER UPDATE OF bytes ON blob_uses WHEN OLD.stored_by IS NOT NULL BEGIN${addBytes(
  'OLD',
  'CASE WHEN NEW.stored_by IS NULL THEN 0 ELSE NEW.bytes END - OLD.bytes',
)}${deleteZeroTotals}
END;
CREATE TRIGGER blob_uses_gone AFTER DELETE ON blob_uses WHEN OLD.stored_by IS NOT NULL BEGIN${addBytes('OLD', '-OLD.bytes')}${deleteZeroTotals}
END;
`
