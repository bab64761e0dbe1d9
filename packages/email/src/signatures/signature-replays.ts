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

interface SignatureUse {
  readonly agents: Set<string>
  unnamedCount: number
}

const dayMs = 86_400_000
const [maxSignatures, maxUnnamed] = [50_000, 20]

/** Creates the record of signatures. A valid mail that others forward to many recipients keeps its valid signature (DKIM replay). */
export function createSignatureReplays({ now }: Pick<System, 'now'>): NoteSignature {
  const signatures = createExpiringMap<SignatureUse>(maxSignatures, now)

  function findOrAdd(id: string): SignatureUse {
    const knownUse = signatures.get(id)
    if (knownUse) return knownUse
    const newUse: SignatureUse = { agents: new Set(), unnamedCount: 0 }
    signatures.set(id, newUse, dayMs)
    return newUse
  }

  return (id, recipients) => {
    const use = findOrAdd(id)
    const isRepeated = use.agents.size > 0
    const unnamedRecipients = recipients.filter(({ agent, isNamed }) => !isNamed && !use.agents.has(agent))
    for (const { agent } of recipients) use.agents.add(agent)
    use.unnamedCount += unnamedRecipients.length
    return [
      ...(isRepeated && unnamedRecipients.length > 0 ? ['replayed_signature'] : []),
      ...(use.unnamedCount > maxUnnamed ? ['signature_flood'] : []),
    ]
  }
}
