import type { EvidenceClaim, OnceStore } from '@postern/core'
import { lifetime } from '../format/limits.ts'
import type { ReadEvidence } from './read.ts'

type Use = Pick<EvidenceClaim, 'sender' | 'messageId'>

/** What evidence was used for. */
interface EvidenceUses {
  /**
   * Last of all, so that nothing but good evidence is ever used up. False when it was used before, by another message: a sender who
   * repeats himself, because he has heard nothing, is answered as the first time, and for that he has to be who he was.
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
    // A key that is used up till the past is only asked about: whoever asks for another's evidence leaves nothing behind.
    return own !== undefined && !(await store.consumeOnce(own, 0))
  }

  return {
    async take(evidence, use) {
      const { replayKey } = evidence
      // The same message twice at once: the second waits until it is known whose the first was.
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
