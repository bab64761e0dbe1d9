// Stores the first attempt of a turn or a delivery, from which the time to give up counts.

/** Adds the time of the first attempt. NULL: there was none yet. Work that waits for a retry during this migration counts from its next attempt on. */
export const addFirstAttempts: string = `
ALTER TABLE turns ADD COLUMN tried_at INTEGER;
ALTER TABLE deliveries ADD COLUMN tried_at INTEGER;
`
