/** What one message may carry, each carrier by itself; bytes of JSON (MN-6.5). */
export const carrierLimits = { carrierBytes: 64 * 1024, entryBytes: 32 * 1024, entries: 4 } as const

/** Longest life of evidence, and how far clocks may differ, ms. */
export const lifetime = { longest: 10 * 60_000, usual: 5 * 60_000, skew: 60_000 } as const

/** One key document. Its host is one that the operator trusts. */
export const documentRequest = {
  timeoutMs: 3_000,
  maxBytes: 64 * 1024,
  redirects: 0,
  headers: { accept: 'application/did+json, application/json' },
} as const
