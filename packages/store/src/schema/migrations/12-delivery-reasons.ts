// Stores the reason for which a delivery waits or has failed, as a code.

/** Adds the reason of a waiting or failed delivery. NULL: it was sent, was not tried yet, or ended before this migration. */
export const addDeliveryReasons: string = `
ALTER TABLE deliveries ADD COLUMN reason TEXT;
`
