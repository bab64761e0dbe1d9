// Parses the id, number or address that an operator asks about.
import { listIdSpellings, Rejection } from '@postern/message'
import type { WhyQuery } from '@postern/pipeline'

/** The names of agents. */
interface AgentNames {
  readonly domain: string
  has(name: string): boolean
}

/** The maximum length of an id, UTF-16 code units. */
const maxQueryChars = 2_048

/**
 * Parses a question: `3`, `#3`, `d3` (a delivery), `r3` (a refusal), the peer's id (Message-ID, activity, A2A message or task), an id of the
 * gateway, an address, or an agent's name. @throws Rejection `malformed`
 */
export function parseWhyQuery(query: string, agents: AgentNames): WhyQuery {
  const text = query.trim()
  if (text === '' || text.length > maxQueryChars) {
    throw new Rejection(
      'malformed',
      `Cannot explain: give an id, a number or an address of at most ${maxQueryChars} characters`,
    )
  }
  const message = /^#(\d{1,15})$/.exec(text)?.[1]
  if (message) return { ids: [], message: Number(message) }
  const refusal = /^r(?:efusal)?[ :#]*(\d{1,15})$/i.exec(text)?.[1]
  if (refusal) return { ids: [], refusal: Number(refusal) }
  const delivery = /^d(?:elivery)?[ :#]*(\d{1,15})$/i.exec(text)?.[1]
  const number = /^\d{1,15}$/.test(text) ? Number(text) : undefined
  return {
    // A peer may give a message an id that looks like somebody else's address.
    ids: /^(?:@|acct:|mailto:)/i.test(text) ? [] : listIdSpellings(text),
    message: number,
    delivery: delivery === undefined ? number : Number(delivery),
    ...readAddress(text, agents),
  }
}

function readAddress(text: string, agents: AgentNames): Pick<WhyQuery, 'agent' | 'sender'> {
  const [, local, domain] = /^(?:acct:|mailto:)?@?([^@\s<>]+)@([^@\s<>]+)$/i.exec(text.replace(/^<|>$/g, '')) ?? []
  if (local === undefined || domain === undefined) return agents.has(text) ? { agent: text } : {}
  // The text after a + in an agent’s address names a conversation.
  const name = local.toLowerCase().split('+')[0] ?? ''
  const isOwnDomain = domain.toLowerCase() === agents.domain
  return { sender: `@${local}@${domain}`, ...(isOwnDomain && { agent: name }) }
}
