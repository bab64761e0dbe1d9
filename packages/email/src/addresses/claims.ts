import type { AgentDirectory, RefusalClaims } from '@postern/core'
import { findRecipient } from './recipients.ts'

/** What a mail says of itself, in the words of stored messages: `@alice@alice.test`, an agent's name. What is not readable stays as it is. */
export function nameClaims(
  { sender, recipients }: { readonly sender?: string | undefined; readonly recipients: readonly string[] },
  agents: AgentDirectory,
): Pick<RefusalClaims, 'claimed_sender' | 'agent'> {
  const named = [...new Set(recipients.map(address => nameRecipient(address, agents)))]
  return {
    ...(sender && { claimed_sender: nameSender(sender) }),
    ...(named.length > 0 && { agent: named.join(', ') }),
  }
}

function nameSender(field: string): string {
  const [, inAngles, alone] =
    /^(?:[^<>]*<([^<>@\s]+@[^<>@\s]+)>|([^<>@\s,;:"]+@[^<>@\s,;:"]+))$/.exec(field.trim()) ?? []
  const address = inAngles ?? alone
  return address === undefined ? field : `@${address}`
}

/** Also of an agent that is not there. */
function nameRecipient(address: string, agents: AgentDirectory): string {
  const known = findRecipient(address, agents)
  if (known) return known.agent
  const [local, domain, more] = address.toLowerCase().split('@')
  return local && domain === agents.domain && more === undefined ? (local.split('+')[0] ?? local) : address
}
