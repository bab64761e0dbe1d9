import { createHash } from 'node:crypto'
import type { OnceStore, Platform } from '@postern/core'
import { Rejection } from '@postern/core'

/**
 * Proofs of webhooks that must not count twice. Only memory distinguishes a retry from a replay. After a restart, or in
 * another process, the same mail is a duplicate.
 */
export interface SeenTokens {
  /** @throws Rejection `replayed` */
  check(token: string): void
  /**
   * For a token whose signature does not cover the content: it is bound to this content for good.
   * @throws Rejection `replayed`
   */
  bind(token: string, content: readonly (string | Uint8Array)[]): Promise<void>
  remember(token: string): void
}

/** More than come in a window; of more, the oldest are forgotten. */
const maxTokens = 100_000

/** Tokens are remembered for `windowMs`, which is as long as what they prove counts. */
export function createSeenTokens(platform: OnceStore & Pick<Platform, 'now'>, windowMs: number): SeenTokens {
  const seen = new Map<string, number>()
  const replayed = () => new Rejection('replayed', 'Cannot accept webhook: it was here before')

  function forget(): void {
    for (const [token, until] of seen) {
      if (until > platform.now() && seen.size <= maxTokens) break
      seen.delete(token)
    }
  }

  return {
    check(token) {
      if ((seen.get(token) ?? 0) > platform.now()) throw replayed()
    },
    async bind(token, content) {
      const until = platform.now() + windowMs
      const isFirst = await platform.consumeOnce(`mail webhook ${token}`, until)
      const isOther = await platform.consumeOnce(`mail webhook ${token} ${digestAll(content)}`, until)
      // A try that failed comes again as it was.
      if (!isFirst && isOther) throw replayed()
    },
    remember(token) {
      seen.set(token, platform.now() + windowMs)
      forget()
    },
  }
}

function digestAll(content: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256')
  for (const piece of content) hash.update(`${piece.length}:`).update(piece)
  return hash.digest('base64url')
}
