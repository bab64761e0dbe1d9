import type { Platform } from '@postern/core'

/** Remembers to whom a signature has come. A hint: a restart forgets it, and another gateway does not know of it. */
export interface SignatureReplays {
  /**
   * Flags for a signature that now comes to these agents: `replayed_signature` when it was here before and its header names
   * none of those who are new; `signature_flood` when that has happened too often in a day.
   */
  note(id: string, recipients: readonly ReplayRecipient[]): string[]
}

interface ReplayRecipient {
  readonly agent: string
  /** The header, which the signature covers, names it. */
  readonly isNamed: boolean
}

interface Seen {
  readonly since: number
  readonly agents: Set<string>
  unnamed: number
}

const dayMs = 86_400_000
const [maxSignatures, maxUnnamed] = [50_000, 20]

/** One valid mail that others send on to many keeps its valid signature (DKIM replay). */
export function createSignatureReplays({ now }: Pick<Platform, 'now'>): SignatureReplays {
  const known = new Map<string, Seen>()

  function find(id: string): Seen {
    const seen = known.get(id)
    if (seen && seen.since > now() - dayMs) return seen
    const fresh: Seen = { since: now(), agents: new Set(), unnamed: 0 }
    known.delete(id)
    known.set(id, fresh)
    if (known.size > maxSignatures) known.delete(known.keys().next().value ?? id)
    return fresh
  }

  return {
    note(id, recipients) {
      const seen = find(id)
      const wasHere = seen.agents.size > 0
      const strangers = recipients.filter(({ agent, isNamed }) => !isNamed && !seen.agents.has(agent))
      for (const { agent } of recipients) seen.agents.add(agent)
      seen.unnamed += strangers.length
      return [
        ...(wasHere && strangers.length > 0 ? ['replayed_signature'] : []),
        ...(seen.unnamed > maxUnnamed ? ['signature_flood'] : []),
      ]
    },
  }
}
