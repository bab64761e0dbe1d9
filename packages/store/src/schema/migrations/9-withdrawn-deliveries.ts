// Adds the time at which a delivery was withdrawn during an attempt, so that no later delivery overtakes it.

/**
 * Adds `withdrawn_at`, the time from which no attempt may begin. Until `ended_at` is set, an earlier attempt may still reach the peer, and later
 * deliveries to the same destination wait. The index `broadcasts_open` finds the broadcasts of a thread in their order.
 */
export const addWithdrawnDeliveries: string = `
ALTER TABLE deliveries ADD COLUMN withdrawn_at INTEGER;
CREATE INDEX broadcasts_open ON broadcasts (thread_id, id) WHERE due_at IS NOT NULL;
`
