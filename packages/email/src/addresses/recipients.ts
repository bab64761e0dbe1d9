import type { AgentDirectory } from '@postern/core'
import { toAsciiDomain } from '@postern/core'

/** The agent behind `agent+tag@domain`, whatever its case; undefined when there is no such agent here (EM-4.3). */
export function findRecipient(address: string, agents: AgentDirectory): AddressedAgent | undefined {
  const bare = address.trim().replace(/^<|>$/g, '')
  const at = bare.lastIndexOf('@')
  if (at <= 0 || !isDomain(bare.slice(at + 1), agents.domain)) return undefined
  const [local = '', ...tag] = bare.slice(0, at).normalize('NFC').split('+')
  const profile = agents.find(local.toLowerCase())
  return profile && { agent: profile.name, ...(tag.length > 0 && { tag: tag.join('+').slice(0, 128) }) }
}

/** Every agent named, once. */
export function findRecipients(addresses: readonly string[], agents: AgentDirectory): AddressedAgent[] {
  const found = addresses.flatMap(address => findRecipient(address, agents) ?? [])
  return [...new Map(found.map(recipient => [recipient.agent, recipient])).values()]
}

function isDomain(text: string, domain: string): boolean {
  return text === domain || toAsciiDomain(text.replace(/\.$/, '')) === domain
}

/** One of our agents, as an envelope recipient named it. */
export interface AddressedAgent {
  /** The agent's name. */
  readonly agent: string
  /** The text after the `+` of the address. */
  readonly tag?: string | undefined
}
