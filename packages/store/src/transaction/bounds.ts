// Bounds the size of one transaction.

/** The most characters in one transaction, so that the event loop runs in between. */
export const batchSize = 1024 * 1024

/** The most operations in one transaction. */
export const mostAtOnce = 256
