// Defines the table of the requirements of agents and their outcomes.

/** The table of requirements. `digest` is the digest of the state that a decision must contain. */
export const requirementSchema = `
-- subject: the principal who may decide the requirement. address: the address of the principal. status: 'open', 'granted', 'declined' or
-- 'expired'. An open requirement after expires_at counts as expired, too. receipt: the issuer and the number of the receipt of a payment.
CREATE TABLE requirements (
  position INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  digest TEXT NOT NULL UNIQUE,
  agent TEXT NOT NULL,
  channel TEXT NOT NULL,
  thread_id INTEGER NOT NULL REFERENCES threads,
  message INTEGER NOT NULL REFERENCES messages,
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  address TEXT NOT NULL,
  policy TEXT NOT NULL,
  issued_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  status TEXT NOT NULL DEFAULT 'open',
  resolved_at INTEGER,
  resolver TEXT,
  receipt TEXT
) STRICT;
CREATE INDEX requirements_open ON requirements (thread_id) WHERE status = 'open';
CREATE INDEX requirements_message ON requirements (message);
CREATE INDEX requirements_expiry ON requirements (expires_at);
CREATE UNIQUE INDEX requirements_receipt ON requirements (receipt) WHERE receipt IS NOT NULL;
-- This index finds the oldest open requirements for operators.
CREATE INDEX requirements_overdue ON requirements (expires_at) WHERE status = 'open' AND subject = 'operator';

-- A requirement is deleted with its message, also if the author deletes the message. It expires if its answer is retracted.
CREATE TRIGGER requirements_removed AFTER DELETE ON messages WHEN OLD.kind = 'message' BEGIN
  DELETE FROM requirements WHERE message = OLD.seq;
END;
CREATE TRIGGER requirements_forgotten AFTER UPDATE OF forgotten_at ON messages WHEN NEW.forgotten_at IS NOT NULL BEGIN
  DELETE FROM requirements WHERE message = NEW.seq;
END;
CREATE TRIGGER requirements_retracted AFTER UPDATE OF retracted_at ON messages WHEN NEW.retracted_at IS NOT NULL BEGIN
  UPDATE requirements SET status = 'expired' WHERE message = NEW.answers AND status = 'open';
END;
`
