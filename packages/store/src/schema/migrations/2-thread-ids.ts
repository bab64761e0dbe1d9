// Adds a separate id for each thread, which agents use.

/**
 * Adds `public_id`, which is random for each new thread. It is NULL for older threads, for which agents still use the key, so that their memories stay.
 * Older threads that share a key in different scopes or channels would share a memory. They get the id of their first entry, which is random, too.
 */
export const addThreadIds: string = `
ALTER TABLE threads ADD COLUMN public_id TEXT;

UPDATE threads SET public_id = coalesce(
  (SELECT m.entry_id FROM messages m WHERE m.thread_id = threads.id AND m.scope = 'conversation'
   ORDER BY coalesce(m.answers, m.seq) LIMIT 1),
  key || ' #' || CAST(id AS TEXT))
WHERE EXISTS (SELECT 1 FROM thread_aliases a WHERE a.name = threads.key AND a.is_key = 1
  AND (a.channel <> threads.channel OR a.scope <> threads.scope));
`
