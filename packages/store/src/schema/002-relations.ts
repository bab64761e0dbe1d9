/**
 * Who stands how to an agent, and what authors take back. From here on a message whose author takes it back is changed once:
 * its raw bytes go and `forgotten_at` is set; its entry keeps nothing but its place.
 */
export const relationSchema = `
CREATE TABLE relations (
  place INTEGER PRIMARY KEY,
  agent TEXT NOT NULL,
  via TEXT NOT NULL,
  relation TEXT NOT NULL,
  peer TEXT NOT NULL,
  target TEXT NOT NULL,
  since INTEGER NOT NULL,
  UNIQUE (agent, via, relation, peer)
) STRICT;
CREATE INDEX relations_oldest ON relations (agent, via, relation);
CREATE INDEX relations_peer ON relations (peer, via);

-- Running totals per agent and channel, so that a collection's total counts nothing: a relation's name, or 'listed'.
CREATE TABLE agent_totals (
  agent TEXT NOT NULL,
  via TEXT NOT NULL,
  name TEXT NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY (agent, via, name)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER relations_added AFTER INSERT ON relations BEGIN
  INSERT INTO agent_totals (agent, via, name, value) VALUES (NEW.agent, NEW.via, NEW.relation, 1)
    ON CONFLICT DO UPDATE SET value = value + 1;
END;
CREATE TRIGGER relations_removed AFTER DELETE ON relations BEGIN
  UPDATE agent_totals SET value = value - 1 WHERE agent = OLD.agent AND via = OLD.via AND name = OLD.relation;
END;

-- Everybody may read it.
ALTER TABLE responses ADD COLUMN listed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX responses_listed ON responses (agent, via) WHERE listed = 1;
CREATE TRIGGER responses_listed_added AFTER INSERT ON responses WHEN NEW.listed = 1 BEGIN
  INSERT INTO agent_totals (agent, via, name, value) VALUES (NEW.agent, NEW.via, 'listed', 1)
    ON CONFLICT DO UPDATE SET value = value + 1;
END;
UPDATE responses SET listed = 1 WHERE via = 'activitypub'
  AND coalesce(json_extract(envelope, '$.visibility'), 'public') IN ('public', 'unlisted')
  AND (SELECT json_extract(target, '$.visibility') FROM messages WHERE number = message) IN ('public', 'unlisted');
INSERT INTO agent_totals SELECT agent, via, 'listed', count(*) FROM responses WHERE listed = 1 GROUP BY agent, via;

-- Whose words, and of what; what is taken back is found by these.
ALTER TABLE messages ADD COLUMN author TEXT;
ALTER TABLE messages ADD COLUMN object TEXT;
ALTER TABLE messages ADD COLUMN forgotten_at INTEGER;
CREATE INDEX messages_author ON messages (author, object, via) WHERE author IS NOT NULL AND forgotten_at IS NULL;

-- Whom it is meant for.
ALTER TABLE deliveries ADD COLUMN peer TEXT;
CREATE INDEX deliveries_peer ON deliveries (peer) WHERE peer IS NOT NULL AND ended_at IS NULL;

-- Which messages need which bytes.
CREATE TABLE blob_uses (
  message INTEGER NOT NULL REFERENCES messages,
  digest TEXT NOT NULL,
  PRIMARY KEY (message, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_uses_digest ON blob_uses (digest);
INSERT OR IGNORE INTO blob_uses (message, digest)
  SELECT number, raw_digest FROM messages WHERE raw_digest IS NOT NULL
  UNION SELECT e.seq, json_extract(p.value, '$.bytes_ref.digest') FROM entries e, json_each(e.content) p
    WHERE e.role = 'user' AND json_extract(p.value, '$.bytes_ref.digest') IS NOT NULL;

-- What was taken back, in case it only arrives later. until rises with place.
CREATE TABLE withdrawals (
  place INTEGER PRIMARY KEY,
  author TEXT NOT NULL,
  object TEXT NOT NULL,
  via TEXT NOT NULL,
  until INTEGER NOT NULL,
  UNIQUE (author, object, via)
) STRICT;

-- Turns that machines have taken of a thread within the time that began at began_at.
CREATE TABLE turn_quotas (thread_id INTEGER PRIMARY KEY REFERENCES threads, began_at INTEGER NOT NULL, used INTEGER NOT NULL)
  STRICT;
`
