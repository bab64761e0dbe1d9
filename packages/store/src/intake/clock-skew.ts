// Limits the difference between the clocks of gateways.

/**
 * The maximum number of milliseconds by which the clock of another gateway may be ahead. A period that begins even later was written before somebody
 * set the clock back. Such a period counts as over, because otherwise it would block its sender for too long.
 */
export const maxClockSkewMs = 60_000
