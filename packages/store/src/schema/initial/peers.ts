// Defines the tables of relations, withdrawals, limits, refusals, recorded lookups and proof keys.
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

-- Objects that their authors have deleted, because they may still arrive. expires_at rises with id.
CREATE TABLE withdrawals (
  id INTEGER PRIMARY KEY,
  author TEXT NOT NULL,
  object TEXT NOT NULL,
  channel TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  UNIQUE (author, object, channel)
) STRICT;

-- The turns of machines in a thread within the period that began at began_at. author: '' for all machines of the thread.
CREATE TABLE turn_quotas (
  thread_id INTEGER NOT NULL REFERENCES threads,
  author TEXT NOT NULL,
  began_at INTEGER NOT NULL,
  used INTEGER NOT NULL,
  PRIMARY KEY (thread_id, author)
) STRICT, WITHOUT ROWID;

-- The turns that were used of a budget, independent of the thread. key: a digest of the sender or channel.
CREATE TABLE turn_budgets (key TEXT PRIMARY KEY, expires_at INTEGER NOT NULL, used INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX turn_budgets_expiry ON turn_budgets (expires_at);

-- SHA-256 digests of keys that may be used only once, until they expire.
CREATE TABLE single_use_keys (digest BLOB PRIMARY KEY, expires_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX single_use_keys_expiry ON single_use_keys (expires_at);

-- Requests that were refused, for good or for now. status: the status of the answer. claimed_sender, agent, peer_id: unproven claims of the request.
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

-- The answers of other hosts, such as documents, keys and DNS records, each time an answer has changed. answer: JSON. owner: the principal whose
-- document the answer is. object: the id of the object in the answer, with which the author may delete the answer.
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

-- Public keys that proved messages, so that a message can be verified again with the same keys. material: PEM, a DKIM record or a JWK. owner: the
-- principal of a personal key. used_at: the time of the last use, with an error of up to a day. It rises with id, and the oldest are deleted first.
CREATE TABLE proof_keys (
  id INTEGER PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  material TEXT NOT NULL,
  owner TEXT,
  used_at INTEGER NOT NULL
) STRICT;
`
