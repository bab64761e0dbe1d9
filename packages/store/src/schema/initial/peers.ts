// Defines the tables of peers: their relations to agents, their withdrawals, and their limits.
export const peerSchema = `
CREATE TABLE relations (
  id INTEGER PRIMARY KEY,
  agent TEXT NOT NULL,
  channel TEXT NOT NULL,
  relation TEXT NOT NULL,
  peer TEXT NOT NULL,
  target TEXT NOT NULL,
  since INTEGER NOT NULL,
  UNIQUE (agent, channel, relation, peer)
) STRICT;
CREATE INDEX relations_oldest ON relations (agent, channel, relation);
CREATE INDEX relations_peer ON relations (peer, channel);

-- What was taken back, in case it only arrives later. expires_at rises with id.
CREATE TABLE withdrawals (
  id INTEGER PRIMARY KEY,
  author TEXT NOT NULL,
  object TEXT NOT NULL,
  channel TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  UNIQUE (author, object, channel)
) STRICT;

-- Turns that machines have taken of a thread within the time that began at began_at. author: '' for all machines of the thread.
CREATE TABLE turn_quotas (
  thread_id INTEGER NOT NULL REFERENCES threads,
  author TEXT NOT NULL,
  began_at INTEGER NOT NULL,
  used INTEGER NOT NULL,
  PRIMARY KEY (thread_id, author)
) STRICT, WITHOUT ROWID;

-- Turns that many messages share by a key: who is answered how often, whatever the thread.
CREATE TABLE turn_budgets (key TEXT PRIMARY KEY, expires_at INTEGER NOT NULL, used INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX turn_budgets_expiry ON turn_budgets (expires_at);

-- What may be used once, by SHA-256, until its time is over.
CREATE TABLE single_use_keys (digest BLOB PRIMARY KEY, expires_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX single_use_keys_expiry ON single_use_keys (expires_at);

-- What was refused, or could not be taken for now. status: what it was answered with. claimed_sender, agent, peer_id: what it says of itself.
CREATE TABLE refusals (
  id INTEGER PRIMARY KEY,
  at TEXT NOT NULL,
  channel TEXT NOT NULL,
  endpoint TEXT,
  status INTEGER,
  code TEXT NOT NULL,
  reason TEXT NOT NULL,
  peer TEXT NOT NULL,
  claimed_sender TEXT,
  agent TEXT,
  peer_id TEXT
) STRICT;

-- What other hosts answered when they were asked: documents, keys, DNS records, each when it said something new. answer: JSON. owner: the principal
-- whose document it is. object: id of the post that it shows, so that it goes when the author takes the post back.
CREATE TABLE lookups (
  id INTEGER PRIMARY KEY,
  question TEXT NOT NULL,
  at INTEGER NOT NULL,
  answer TEXT NOT NULL,
  owner TEXT,
  object TEXT
) STRICT;
CREATE INDEX lookups_question ON lookups (question, at);
CREATE INDEX lookups_owner ON lookups (owner) WHERE owner IS NOT NULL;
CREATE INDEX lookups_object ON lookups (object) WHERE object IS NOT NULL;

-- Public keys that proved messages, once each, so that a message can be verified again with the keys of then. material: PEM, a DKIM record, a JWK.
-- owner: the principal whose key it is, where it is a person's. used_at: within a day of its last use, rises with id; the longest unused go first.
CREATE TABLE proof_keys (
  id INTEGER PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  material TEXT NOT NULL,
  owner TEXT,
  used_at INTEGER NOT NULL
) STRICT;
`
