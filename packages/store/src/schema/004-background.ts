/** What was said before a message that begins in the middle of a conversation, fetched from whose servers vouch for it. */
export const backgroundSchema = `
-- Entries that came with no message. object: the id its author knows it by; author: his principal, NULL once it is taken back.
CREATE TABLE background (
  seq INTEGER PRIMARY KEY REFERENCES entries,
  thread_id INTEGER NOT NULL REFERENCES threads,
  via TEXT NOT NULL,
  object TEXT NOT NULL,
  author TEXT,
  UNIQUE (object, thread_id)
) STRICT;
CREATE INDEX background_author ON background (author, object, via) WHERE author IS NOT NULL;
`
