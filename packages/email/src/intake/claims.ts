// Reads the sender and the agents that a refused mail claims, for the list of refusals.
import type { AgentDirectory, RefusalClaims } from '@postern/pipeline'
import { findRecipient } from '../mail/recipients.ts'

/**
 * Returns the claimed sender and agents of a mail in the form of stored messages, such as `@alice@alice.test`.
 * Unreadable text is unchanged.
 */
export function describeClaims(
  { sender, recipients }: { readonly sender?: string | undefined; readonly recipients: readonly string[] },
  agents: AgentDirectory,
): Pick<RefusalClaims, 'claimed_sender' | 'agent'> {
  const agentNames = [...new Set(recipients.map(address => readClaimedAgent(address, agents)))]
  return {
    ...(sender && { claimed_sender: readClaimedSender(sender) }),
    ...(agentNames.length > 0 && { agent: agentNames.join(', ') }),
  }
}

function readClaimedSender(field: string): string {
  const [, bracketedAddress, plainAddress] =
    /^(?:[^<>]*<([^<>@\s]+@[^<>@\s]+)>|([^<>@\s,;:"]+@[^<>@\s,;:"]+))$/.exec(field.trim()) ?? []
  const address = bracketedAddress ?? plainAddress
  return address === undefined ? field : `@${address}`
}

/** Returns the name of an agent, even if the agent does not exist. */
function readClaimedAgent(address: string, agents: AgentDirectory): string {
  const recipient = findRecipient(address, agents)
  if (recipient) return recipient.agent
  const [local, domain, remaining] = address.toLowerCase().split('@')
  return local && domain === agents.domain && remaining === undefined ? (local.split('+')[0] ?? local) : address
}
