// Defines the tables of deliveries, broadcasts and their attempts.

/** The tables of deliveries. Exactly one open delivery to a destination in a thread has `due_at`, and the others wait for it. */
export const deliverySchema = `
-- host: the host of a destination that is a URL. peer: the peer for which the delivery is meant.
CREATE TABLE deliveries (
  number INTEGER PRIMARY KEY,
  message INTEGER NOT NULL REFERENCES messages,
  response_seq INTEGER REFERENCES messages,
  broadcast INTEGER REFERENCES broadcasts,
  thread_id INTEGER NOT NULL REFERENCES threads,
  destination TEXT NOT NULL,
  host TEXT,
  peer TEXT,
  target TEXT NOT NULL,
  state TEXT NOT NULL,
  due_at INTEGER,
  lease_token INTEGER NOT NULL DEFAULT 0,
  lease_owner TEXT,
  attempt INTEGER NOT NULL DEFAULT 0,
  queued_at INTEGER NOT NULL,
  ended_at INTEGER,
  last_error TEXT,
  note TEXT,
  wire TEXT
) STRICT;
-- Answers go before broadcasts.
CREATE INDEX deliveries_due_answers ON deliveries (due_at) WHERE due_at IS NOT NULL AND broadcast IS NULL;
CREATE INDEX deliveries_due_broadcasts ON deliveries (due_at) WHERE due_at IS NOT NULL AND broadcast IS NOT NULL;
CREATE INDEX deliveries_open ON deliveries (thread_id, destination, due_at) WHERE ended_at IS NULL;
CREATE INDEX deliveries_message ON deliveries (message);
CREATE INDEX deliveries_dead ON deliveries (number) WHERE state = 'dead';
CREATE INDEX deliveries_peer ON deliveries (peer) WHERE peer IS NOT NULL AND ended_at IS NULL;
CREATE INDEX deliveries_broadcast ON deliveries (broadcast, destination) WHERE broadcast IS NOT NULL;
CREATE INDEX deliveries_response ON deliveries (response_seq) WHERE response_seq IS NOT NULL AND ended_at IS NULL;

-- The attempts of deliveries. ms: the duration. outcome: 'sent', 'later' or 'dead'. status, reply_line: the answer of the peer.
CREATE TABLE delivery_attempts (
  delivery INTEGER NOT NULL REFERENCES deliveries,
  attempt INTEGER NOT NULL,
  at INTEGER NOT NULL,
  ms INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  status INTEGER,
  reply_line TEXT,
  error TEXT,
  next_at INTEGER,
  PRIMARY KEY (delivery, attempt)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER deliveries_removed AFTER DELETE ON deliveries BEGIN
  DELETE FROM delivery_attempts WHERE delivery = OLD.number;
END;
CREATE TRIGGER deliveries_emptied AFTER UPDATE OF message ON deliveries BEGIN
  DELETE FROM delivery_attempts WHERE delivery = NEW.number;
END;

-- Broadcasts are expanded into deliveries page by page. after_id: the last relation whose delivery is queued. until_id: the newest relation
-- when the broadcast began.
CREATE TABLE broadcasts (
  id INTEGER PRIMARY KEY,
  message INTEGER NOT NULL REFERENCES messages,
  response_seq INTEGER REFERENCES messages,
  thread_id INTEGER NOT NULL REFERENCES threads,
  agent TEXT NOT NULL,
  channel TEXT NOT NULL,
  relation TEXT NOT NULL,
  target TEXT NOT NULL,
  after_id INTEGER NOT NULL DEFAULT 0,
  until_id INTEGER NOT NULL,
  due_at INTEGER,
  lease_owner TEXT,
  ended_at INTEGER
) STRICT;
CREATE INDEX broadcasts_due ON broadcasts (due_at) WHERE due_at IS NOT NULL;
`
