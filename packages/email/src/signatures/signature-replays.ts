// Recognizes one signed mail that others forward to many recipients (DKIM replay).

import { createExpiringMap } from '@postern/limits'
import type { System } from '@postern/message'

/**
 * Returns the flags of a signature that comes to some agents. `replayed_signature` means that it came before and that
 * its header names none of the new agents. `signature_flood` means that this has happened too often in a day. The
 * record of agents is a hint that a restart forgets and that other gateways do not share.
 */
export type NoteSignature = (id: string, recipients: readonly ReplayRecipient[]) => string[]

interface ReplayRecipient {
  readonly agent: string
  /** True if the header, which the signature covers, names the agent. */
  readonly isNamed: boolean
}

interface Seen {
  readonly agents: Set<string>
  unnamed: number
}

const dayMs = 86_400_000
const [maxSignatures, maxUnnamed] = [50_000, 20]

/** Creates the record of signatures. A valid mail that others forward to many recipients keeps its valid signature (DKIM replay). */
export function createSignatureReplays({ now }: Pick<System, 'now'>): NoteSignature {
  const signatures = createExpiringMap<Seen>(maxSignatures, now)

  function find(id: string): Seen {
    const seen = signatures.get(id)
    if (seen) return seen
    const fresh: Seen = { agents: new Set(), unnamed: 0 }
    signatures.set(id, fresh, dayMs)
    return fresh
  }

  return (id, recipients) => {
    const seen = find(id)
    const wasHere = seen.agents.size > 0
    const strangers = recipients.filter(({ agent, isNamed }) => !isNamed && !seen.agents.has(agent))
    for (const { agent } of recipients) seen.agents.add(agent)
    seen.unnamed += strangers.length
    return [
      ...(wasHere && strangers.length > 0 ? ['replayed_signature'] : []),
      ...(seen.unnamed > maxUnnamed ? ['signature_flood'] : []),
    ]
  }
}
