// Recognizes a signed mail that somebody sends again to many recipients (DKIM replay).

import { createExpiringMap } from '@postern/limits'
import type { System } from '@postern/message'

/**
 * Records a signature that arrives for some agents, and returns its flags. `replayed_signature` means that the
 * signature arrived before, and that its header does not name a new agent. `signature_flood` means that this happened
 * too often in a day. The record is in memory, so a restart forgets it, and other processes do not share it.
 */
export type RecordSignature = (id: string, recipients: readonly ReplayRecipient[]) => string[]

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

/**
 * Creates the record of signatures. A mail that somebody sends again to many recipients keeps its valid signature (DKIM
 * replay).
 */
export function createSignatureReplays({ now }: Pick<System, 'now'>): RecordSignature {
  const signatures = createExpiringMap<SignatureUse>(maxSignatures, now)

  function findOrAddUse(id: string): SignatureUse {
    const knownUse = signatures.get(id)
    if (knownUse) return knownUse
    const newUse: SignatureUse = { agents: new Set(), unnamedCount: 0 }
    signatures.set(id, newUse, dayMs)
    return newUse
  }

  return (id, recipients) => {
    const use = findOrAddUse(id)
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
