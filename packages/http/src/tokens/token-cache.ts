const limits = { entries: 10_000, lifeMs: 5 * 60_000 } as const

/** A verified token and its caller. */
export interface KnownToken<Who> {
  readonly who: Who
  /** Key of the principal's quota. */
  readonly owner: string
  /** Thumbprint of the key that the token is bound to. */
  readonly boundTo: string | undefined
  /** Whether the keys that verified it are still the present ones. */
  isCurrent(): boolean
}

interface TokenCache<Who> {
  find(key: string): KnownToken<Who> | undefined
  /** `expiresAt` in ms. */
  put(key: string, expiresAt: number, known: KnownToken<Who>): void
}

/** A map keeps the order of insertion. A found entry moves to the end, and the oldest one is dropped first. */
export function createTokenCache<Who>(now: () => number): TokenCache<Who> {
  const entries = new Map<string, { readonly known: KnownToken<Who>; readonly until: number }>()
  return {
    find(key) {
      const entry = entries.get(key)
      if (!entry) return undefined
      entries.delete(key)
      if (now() >= entry.until || !entry.known.isCurrent()) return undefined
      entries.set(key, entry)
      return entry.known
    },
    put(key, expiresAt, known) {
      entries.set(key, { known, until: Math.min(expiresAt, now() + limits.lifeMs) })
      const [oldest] = entries.size > limits.entries ? entries.keys() : []
      if (oldest !== undefined) entries.delete(oldest)
    },
  }
}
