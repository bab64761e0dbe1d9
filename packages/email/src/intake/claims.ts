// Reads the sender and the agents that a refused mail claims, for the list of refusals.
import type { AgentDirectory, RefusalClaims } from '@postern/pipeline'
import { findRecipient } from '../mail/recipients.ts'

/**
 * Returns the claimed sender and agents of a mail in the form of stored messages, such as `@alice@alice.test`.
 * Unreadable text stays as it is.
 */
export function nameClaims(
  { sender, recipients }: { readonly sender?: string | undefined; readonly recipients: readonly string[] },
  agents: AgentDirectory,
): Pick<RefusalClaims, 'claimed_sender' | 'agent'> {
  const agentNames = [...new Set(recipients.map(address => nameRecipient(address, agents)))]
  return {
    ...(sender && { claimed_sender: nameSender(sender) }),
    ...(agentNames.length > 0 && { agent: agentNames.join(', ') }),
  }
}

function nameSender(field: string): string {
  const [, inAngles, alone] =
    /^(?:[^<>]*<([^<>@\s]+@[^<>@\s]+)>|([^<>@\s,;:"]+@[^<>@\s,;:"]+))$/.exec(field.trim()) ?? []
  const address = inAngles ?? alone
  return address === undefined ? field : `@${address}`
}

/** Returns the name of an agent, even if the agent does not exist. */
function nameRecipient(address: string, agents: AgentDirectory): string {
  const recipient = findRecipient(address, agents)
  if (recipient) return recipient.agent
  const [local, domain, more] = address.toLowerCase().split('@')
  return local && domain === agents.domain && more === undefined ? (local.split('+')[0] ?? local) : address
}
