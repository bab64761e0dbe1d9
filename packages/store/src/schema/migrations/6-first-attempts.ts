// Adds the time of the first attempt of a turn or a delivery, from which the time limit of retries counts.

/** Adds the time of the first attempt. It is NULL before the first attempt. For work that waits for a retry during this migration, it is the time of the next attempt. */
export const addFirstAttempts: string = `
ALTER TABLE turns ADD COLUMN tried_at INTEGER;
ALTER TABLE deliveries ADD COLUMN tried_at INTEGER;
`
