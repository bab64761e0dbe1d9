import type { EvidenceClaim, OnceStore } from '@postern/core'
import { lifetime } from '../format/limits.ts'
import type { ReadEvidence } from './read.ts'

type Use = Pick<EvidenceClaim, 'sender' | 'messageId'>

/** What evidence was used for. */
interface EvidenceUses {
  /**
   * The last check, so that only valid evidence is used up. False when another message used it before. A sender who repeats a message gets
   * the first answer, and must count as the same sender for that.
   */
  take(evidence: ReadEvidence, use: Use): Promise<boolean>
}

/** In the store, for all processes and over restarts, to the end of each piece of evidence. */
export function createEvidenceUses(store: OnceStore): EvidenceUses {
  const running = new Map<string, Promise<boolean>>()

  async function takeNow({ replayKey, window }: ReadEvidence, { sender, messageId }: Use): Promise<boolean> {
    const key = `identity ${replayKey}`
    const until = window.expiresAt + lifetime.skew
    const own = sender === undefined ? undefined : `${key} ${JSON.stringify([sender, messageId])}`
    if (await store.consumeOnce(key, until)) {
      if (own !== undefined) await store.consumeOnce(own, until)
      return true
    }
    // A key whose end is in the past is only queried, so that an attempt with another's evidence leaves no trace.
    return own !== undefined && !(await store.consumeOnce(own, 0))
  }

  return {
    async take(evidence, use) {
      const { replayKey } = evidence
      // For concurrent copies of one message, the second waits until the owner of the first is known.
      const before = running.get(replayKey)
      const now = (before ?? Promise.resolve()).catch(() => undefined).then(() => takeNow(evidence, use))
      running.set(replayKey, now)
      try {
        return await now
      } finally {
        if (running.get(replayKey) === now) running.delete(replayKey)
      }
    },
  }
}
