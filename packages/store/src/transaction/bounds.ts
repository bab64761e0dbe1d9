// Limits the size of one transaction.

/** The maximum number of characters in one transaction, so that the event loop can run between transactions. */
export const batchSize = 1024 * 1024

/** The maximum number of operations in one transaction. */
export const maxOperations = 256
