/** What agents say unasked, revise and take back; broadcasts, and the order between answers and what is spread to many. */
export const actionTableSchema = `
-- What rendering it takes beside the message's target.
ALTER TABLE responses ADD COLUMN rendering TEXT;
ALTER TABLE responses ADD COLUMN edited_at INTEGER;
ALTER TABLE responses ADD COLUMN retracted_at INTEGER;
-- What is taken back is no longer published.
CREATE TRIGGER responses_unlisted AFTER UPDATE OF listed ON responses WHEN OLD.listed = 1 AND NEW.listed = 0 BEGIN
  UPDATE agent_totals SET value = value - 1 WHERE agent = NEW.agent AND via = NEW.via AND name = 'listed';
END;

-- Spread out into deliveries page by page. after_place: the last peer whose delivery is queued; until_place: the newest one there was
-- when the broadcast began.
CREATE TABLE broadcasts (
  id INTEGER PRIMARY KEY,
  message INTEGER NOT NULL REFERENCES messages,
  response_seq INTEGER REFERENCES responses,
  thread_id INTEGER NOT NULL REFERENCES threads,
  agent TEXT NOT NULL,
  via TEXT NOT NULL,
  relation TEXT NOT NULL,
  target TEXT NOT NULL,
  after_place INTEGER NOT NULL DEFAULT 0,
  until_place INTEGER NOT NULL,
  due_at INTEGER,
  holder TEXT,
  ended_at INTEGER
) STRICT;
CREATE INDEX broadcasts_due ON broadcasts (due_at) WHERE due_at IS NOT NULL;

ALTER TABLE deliveries ADD COLUMN broadcast INTEGER REFERENCES broadcasts;
CREATE INDEX deliveries_broadcast ON deliveries (broadcast, destination) WHERE broadcast IS NOT NULL;
-- Answers go before what is spread to many.
DROP INDEX deliveries_due;
CREATE INDEX deliveries_due_answers ON deliveries (due_at) WHERE due_at IS NOT NULL AND broadcast IS NULL;
CREATE INDEX deliveries_due_broadcasts ON deliveries (due_at) WHERE due_at IS NOT NULL AND broadcast IS NOT NULL;
CREATE INDEX deliveries_response ON deliveries (response_seq) WHERE response_seq IS NOT NULL AND ended_at IS NULL;
`
