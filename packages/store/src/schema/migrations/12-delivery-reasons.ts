// Adds a column for the code of the reason for which a delivery waits or has failed.

/** Adds the reason of a waiting or failed delivery. It is NULL if the delivery was sent, was not tried yet, or ended before this migration. */
export const addDeliveryReasons: string = `
ALTER TABLE deliveries ADD COLUMN reason TEXT;
`
