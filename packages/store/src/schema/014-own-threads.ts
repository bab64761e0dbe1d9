/** Conversations as their owner sees them, wherever they began. */
export const ownThreadSchema = `
-- Where others take part, too: the principal of who began it.
ALTER TABLE threads ADD COLUMN begun_by TEXT;
UPDATE threads SET begun_by =
    (SELECT m.author FROM entries e JOIN messages m ON m.number = coalesce(e.answers, e.seq)
     WHERE e.thread_id = threads.id AND e.scope = 'conversation' ORDER BY coalesce(e.answers, e.seq), e.seq LIMIT 1)
  WHERE scope = 'public';
UPDATE threads SET begun_by =
    (SELECT 'mailto:' || substr(lower(json_extract(m.envelope, '$.sender.address')), 2)
     FROM entries e JOIN messages m ON m.number = coalesce(e.answers, e.seq)
     WHERE e.thread_id = threads.id AND e.scope = 'conversation' ORDER BY coalesce(e.answers, e.seq), e.seq LIMIT 1)
  WHERE via = 'email' AND substr(scope, 1, 8) = 'v:group ';
CREATE INDEX threads_begun_by ON threads (begun_by, agent) WHERE begun_by IS NOT NULL;

-- What the gateway was asked and answered itself ('aside').
CREATE INDEX entries_aside ON entries (thread_id, coalesce(answers, seq)) WHERE scope = 'aside';

-- Whose words a thread has of a conversation, and the answers to them: a list of principals. NULL: all that was said.
ALTER TABLE transcript_bindings ADD COLUMN reader TEXT;

-- Which links are somebody's, whatever the agent.
CREATE INDEX person_addresses_subject ON person_addresses (subject) WHERE subject IS NOT NULL;
`
