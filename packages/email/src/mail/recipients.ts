// Finds the local agents among the recipients of a message.

import { toAsciiDomain } from '@postern/message'
import type { AgentDirectory } from '@postern/pipeline'

/** Returns the agent of `agent+tag@domain`, regardless of case, or undefined if there is no such local agent (EM-4.3). */
export function findRecipient(address: string, agents: AgentDirectory): AddressedAgent | undefined {
  const mailbox = address.trim().replace(/^<|>$/g, '')
  const index = mailbox.lastIndexOf('@')
  if (index <= 0 || !isSameDomain(mailbox.slice(index + 1), agents.domain)) return undefined
  const [local = '', ...tag] = mailbox.slice(0, index).normalize('NFC').split('+')
  const profile = agents.find(local.toLowerCase())
  return profile && { agent: profile.name, ...(tag.length > 0 && { tag: tag.join('+').slice(0, 128) }) }
}

/** Returns each local agent among some addresses once. */
export function findRecipients(addresses: readonly string[], agents: AgentDirectory): AddressedAgent[] {
  const addressedAgents = addresses.flatMap(address => findRecipient(address, agents) ?? [])
  return [...new Map(addressedAgents.map(recipient => [recipient.agent, recipient])).values()]
}

function isSameDomain(text: string, domain: string): boolean {
  return text === domain || toAsciiDomain(text.replace(/\.$/, '')) === domain
}

/** A local agent, as an envelope recipient names it. */
export interface AddressedAgent {
  /** The name of the agent. */
  readonly agent: string
  /** The text after the `+` of the address. */
  readonly tag?: string | undefined
}
