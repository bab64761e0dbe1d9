// Bounds how far the clocks of gateways may differ.

/**
 * The maximum by which the clock of another gateway may be ahead of ours, ms. A period that begins later than that was written before somebody set the
 * clock back. It counts as over, because otherwise it would keep its sender out for that long.
 */
export const maxClockSkewMs = 60_000
