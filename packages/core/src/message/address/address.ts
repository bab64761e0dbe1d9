import { Rejection } from '../../format/errors.ts'
import { isHostLength, maxHostLength, parseUrl } from '../../format/notations.ts'
import type { AgentChain, Sender } from '../message.ts'
import type { IdentityQuery } from './access.ts'
import { haveIdentity } from './access.ts'
import type { IdentityEvidence } from './identity.ts'

/** An agent's or person's address `@local@domain`; both halves lower case, the domain as A-labels. */
export interface Address {
  readonly local: string
  readonly domain: string
}

const localPattern = /^[a-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}$/i
/** A letter may be written as itself and its mark. */
const maxUnicodeName = 2 * maxHostLength
const labelPattern = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Reads `@a@d.tld`, `a@d.tld` or `acct:a@d.tld`. The domain needs two labels; Unicode names become A-labels.
 * @throws Rejection `malformed`
 */
export function parseAddress(text: string): Address {
  const address = parseIfAddress(text)
  if (!address) throw new Rejection('malformed', 'Cannot read address: expected "@name@domain.tld"')
  return address
}

/** The address; undefined for a text that is none. */
export function parseIfAddress(text: string): Address | undefined {
  const bare = text.replace(/^acct:/i, '').replace(/^@/, '')
  const at = bare.indexOf('@')
  const local = bare.slice(0, at)
  const domain = at > 0 ? toAsciiDomain(bare.slice(at + 1)) : undefined
  return domain && localPattern.test(local) ? { local: local.toLowerCase(), domain } : undefined
}

/** The address as people and protocols write it, `@local@domain`. */
export function formatAddress({ local, domain }: Address): string {
  return `@${local}@${domain}`
}

/** A DNS name of two or more labels in lower-case A-label form, or undefined when `name` is none. */
export function toAsciiDomain(name: string): string | undefined {
  if (!name || name.length > maxUnicodeName || /[\s/?#@:\\[\]%]/.test(name)) return undefined
  const host = URL.parse(`https://${name}/`)?.hostname.replace(/\.$/, '') ?? ''
  const labels = host.split('.')
  const isName =
    labels.length > 1 && labels.every(label => labelPattern.test(label)) && !/^\d+$/.test(labels.at(-1) ?? '')
  return isName && isHostLength(host) ? host : undefined
}

/** The host that a delivery to `to` connects to; undefined where many places share one way out (mail, handed to a smarthost). */
export function findDestinationHost(to: string): string | undefined {
  return /^https?:/i.test(to) ? parseUrl(to)?.host : undefined
}

/** The maximum length of a chain of agents, unless the operator sets another one. */
export const defaultMaxHops = 5

/**
 * The chain a peer claims, held to our own ceiling; its `is_final` is worked out anew.
 * @throws Rejection `forbidden` when it has gone too far
 */
export function clampAgentChain({ hop, max_hops }: Omit<AgentChain, 'is_final'>, ceiling: number): AgentChain {
  const max = Math.min(max_hops, ceiling)
  if (hop > max) throw new Rejection('forbidden', `Cannot take message: agent chain is longer than ${max} hops`)
  return { hop, max_hops: max, is_final: hop === max }
}

/**
 * The chain with one more call. The first call of a chain is hop 1, and no message can raise the ceiling of this
 * gateway.
 * @throws Rejection `forbidden` on the final hop
 */
export function nextHop(chain: AgentChain | undefined, ceiling: number): AgentChain {
  const max = Math.min(chain?.max_hops ?? ceiling, ceiling)
  const hop = (chain?.hop ?? 0) + 1
  if (hop > max) throw new Rejection('forbidden', `Cannot call agent: agent chain is longer than ${max} hops`)
  return { hop, max_hops: max, is_final: hop === max }
}

/** On the final hop an agent concludes, and calls no other agent (MN-8.3). */
export function isFinalHop(chain: AgentChain | undefined): chain is AgentChain {
  return chain !== undefined && (chain.is_final || chain.hop >= chain.max_hops)
}

/**
 * The same rule for an agent that calls: asked before anything goes out, whoever carries the call.
 * @throws Rejection `forbidden`
 */
export function checkChainGoesOn(chain: AgentChain | undefined): void {
  if (isFinalHop(chain)) nextHop(chain, chain.max_hops)
}

/** The facts about the message's chain for a model: its position, and when it must conclude. */
export function renderAgentChain(chain: AgentChain): string {
  const { hop, max_hops } = chain
  const place = `Agents are passing this on to each other. You are hop ${hop} of at most ${max_hops}.`
  if (isFinalHop(chain)) {
    return `${place} You are the last: conclude with what there is, and call, mention or invite no other agent.`
  }
  const left = max_hops - hop
  return `${place} ${left} more ${left === 1 ? 'is' : 'are'} possible after you; bring in another agent only where it is needed.`
}

interface MentionLimits {
  /** Addresses that are not woken: the agent's own, and the sender's, who gets the answer anyway. */
  readonly without: readonly string[]
  readonly most: number
}

/** The maximum of mentions in an answer, unless the operator sets another one. */
export const defaultMaxMentions = 10

/**
 * The mentions that an answer makes: each once, never oneself, never the sender twice. Texts that are no address are
 * ignored. Pure.
 */
export function chooseMentions(mentions: readonly string[], { without, most }: MentionLimits): readonly string[] {
  const taken = new Set(without.map(nameOf))
  const chosen: string[] = []
  for (const text of mentions) {
    const name = nameOf(text)
    if (name === undefined || taken.has(name) || chosen.length >= most) continue
    taken.add(name)
    chosen.push(`@${text.trim().replace(/^(acct:)?@?/i, '')}`)
  }
  return chosen
}

/** One spelling for each address. */
function nameOf(text: string): string | undefined {
  const address = parseIfAddress(text.trim())
  return address && `${address.local}@${address.domain}`
}

/** The URN of a channel's own method, such as `email-dkim` (Mentionable, ns/identity/v0.1). */
export function formatTransportMethod(method: string): string {
  return `urn:mentionable:auth:${method}:v0.1`
}

interface TransportEvidence {
  readonly method: string
  readonly subject: string
  readonly issuer: string
  readonly assurance: 'address' | 'oauth' | 'domain'
  /** The agent the message was addressed to, `@agent@domain`. */
  readonly audience: string
  /** ISO 8601 UTC. */
  readonly issuedAt: string
  readonly keyId?: string | undefined
}

/** The envelope that a channel issues for its own proof. */
export function mintTransportEvidence(evidence: TransportEvidence): IdentityEvidence {
  const { method, subject, issuer, assurance, audience, issuedAt, keyId } = evidence
  return {
    subject,
    issuer,
    method: formatTransportMethod(method),
    assurance,
    audience,
    issued_at: issuedAt,
    proof: { type: 'transport', verified_by: method, ...(keyId && { key_id: keyId }) },
  }
}

/** A query that an agent can make about its sender before it acts. */
export interface SenderIdentity {
  /** Every identity that is proven and admitted. */
  list(): readonly IdentityEvidence[]
  /**
   * Whether one identity meets all criteria. Where the sender acts on behalf of others, each of them has to meet them, too
   * (`on_behalf_of` never widens a right). An unknown or empty criterion is never met.
   */
  has(query: IdentityQuery): boolean
}

/** The data behind `context.identity`. */
export function createSenderIdentity({ identities = [] }: Pick<Sender, 'identities'>): SenderIdentity {
  return {
    list: () => identities,
    has: query => haveIdentity(identities, query),
  }
}
