import { Rejection } from '@postern/core'

/** What has proven a webhook once and must not prove another. A hint: a restart forgets it. */
export interface SeenTokens {
  /** @throws Rejection `replayed` */
  check(token: string): void
  remember(token: string): void
}

/** More than come in a window; of more, the oldest are forgotten. */
const maxTokens = 100_000

/** Tokens are remembered for `windowMs`, which is as long as what they prove counts. */
export function createSeenTokens(now: () => number, windowMs: number): SeenTokens {
  const seen = new Map<string, number>()

  function forget(): void {
    for (const [token, until] of seen) {
      if (until > now() && seen.size <= maxTokens) break
      seen.delete(token)
    }
  }

  return {
    check(token) {
      if ((seen.get(token) ?? 0) > now()) throw new Rejection('replayed', 'Cannot accept webhook: it was here before')
    },
    remember(token) {
      seen.set(token, now() + windowMs)
      forget()
    },
  }
}
