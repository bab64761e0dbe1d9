// Keeps a delivery after its withdrawal during an attempt, so that no later one overtakes it.

/**
 * Adds `withdrawn_at`: from then on no attempt may begin. Until `ended_at` is set, an earlier attempt may still reach the peer, and later deliveries
 * to the same destination wait. `broadcasts_open`: the broadcasts of a thread are expanded in their order.
 */
export const addWithdrawnDeliveries: string = `
ALTER TABLE deliveries ADD COLUMN withdrawn_at INTEGER;
CREATE INDEX broadcasts_open ON broadcasts (thread_id, id) WHERE due_at IS NOT NULL;
`
