/** A made-up step that a later release might bring: columns, rows, an index and a trigger. */
export const secondVersion = `
ALTER TABLE threads ADD COLUMN title TEXT;
UPDATE threads SET title = lower(channel || ' ' || key);
CREATE INDEX threads_title ON threads (title) WHERE title IS NOT NULL;
-- How many threads a channel has.
CREATE TABLE channel_totals (channel TEXT PRIMARY KEY, threads INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO channel_totals (channel, threads) SELECT channel, count(*) FROM threads GROUP BY channel;
CREATE TRIGGER threads_added AFTER INSERT ON threads BEGIN
  INSERT INTO channel_totals (channel, threads) VALUES (NEW.channel, 1)
    ON CONFLICT (channel) DO UPDATE SET threads = channel_totals.threads + 1;
END;
`
