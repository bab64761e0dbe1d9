// Resolves an address as a peer does, and judges every document that the peer finds.
import type { Address } from '@postern/message'
import { formatAddress, parseAddress, Rejection } from '@postern/message'
import { z } from 'zod'
import { a2aRows } from './rows/a2a.ts'
import { actorRows } from './rows/actor.ts'
import { cardRows } from './rows/card.ts'
import { mailRows } from './rows/mail.ts'
import type { AddressCheck, ResolveFinding } from './rows/row.ts'
import { judgeAll, resolveFindingSchema } from './rows/row.ts'
import { surfaceRows } from './rows/surface.ts'
import { webFingerRows } from './rows/webfinger.ts'
import type { ResolveSystem } from './view/fetched.ts'
import type { PeerView } from './view/peer.ts'
import { findActorLink, findCardLink, findLink, pageRel, readPeerView } from './view/peer.ts'

/** The result of resolving an address, with its faults. */
export const resolvedAddressSchema = z
  .object({
    asked: z.string(),
    address: z.string().optional().describe('The normalized address; absent if the text is not an address.'),
    outcome: z
      .enum(['ok', 'faulty', 'unresolved'])
      .describe('`unresolved`: WebFinger does not know it; `faulty`: some peers cannot use it.'),
    found: z.record(z.string(), z.string()).describe('The addresses found, by name.'),
    findings: z.array(resolveFindingSchema).readonly(),
  })
  .meta({ id: 'ResolvedAddress' })

export type ResolvedAddress = Readonly<z.infer<typeof resolvedAddressSchema>>

const rows: readonly AddressCheck[] = [
  ...webFingerRows,
  ...cardRows,
  ...a2aRows,
  ...actorRows,
  ...mailRows,
  ...surfaceRows,
]

export async function resolveAddress(query: string, system: ResolveSystem): Promise<ResolvedAddress> {
  try {
    const address = parseSpelledAddress(query)
    const view = await readPeerView(address, system)
    const findings = judgeAll(rows, view)
    return {
      asked: query,
      address: formatAddress(address),
      outcome: judgeOutcome(view, findings),
      found: listUrls(view),
      findings,
    }
  } catch (error) {
    if (!(error instanceof Rejection)) throw error
    const fix = 'Write it as @name@domain.tld.'
    const refusal = { id: 'address.spelling', section: '§1.2', severity: 'error', message: error.message, fix } as const
    return { asked: query, outcome: 'unresolved', found: {}, findings: [refusal] }
  }
}

function judgeOutcome({ webfinger }: PeerView, findings: readonly ResolveFinding[]): ResolvedAddress['outcome'] {
  if (!webfinger.document) return 'unresolved'
  return findings.some(({ severity }) => severity === 'error') ? 'faulty' : 'ok'
}

function listUrls({ links, a2a, actor, mail }: PeerView): Readonly<Record<string, string>> {
  const urls = {
    actor: findActorLink(links)?.href,
    inbox: actor?.document?.inbox,
    agent_card: findCardLink(links)?.href,
    a2a: a2a?.agent.interface?.url,
    profile_page: findLink(links, pageRel)?.href,
    mail: mail?.address,
  }
  return Object.fromEntries(
    Object.entries(urls).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}

interface SpellingCase {
  readonly text: string
  /** The text without `acct:` and one leading `@`. */
  readonly bareAddress: string
  readonly local: string
  readonly domain: string
}

interface SpellingError {
  readonly reason: string
  applies(spelling: SpellingCase): boolean
}

const schemePattern = /^([a-z][a-z0-9+.-]*):/i
const atomPattern = /^[a-z0-9!#$%&'*+/=?^_`{|}~.-]+$/i

/** The reasons why a text is not an address (MN-1.2). The first row that applies counts. */
const spellingErrors: readonly SpellingError[] = [
  { reason: 'it is empty', applies: ({ text }) => text === '' },
  { reason: 'it contains spaces or control characters', applies: ({ text }) => /[\s\p{Cc}\p{Cf}]/u.test(text) },
  {
    reason: 'it begins with a scheme other than "acct:"',
    applies: ({ bareAddress }) =>
      schemePattern.test(bareAddress) && !bareAddress.slice(0, bareAddress.indexOf(':')).includes('@'),
  },
  {
    reason: 'there is no name before the "@"',
    applies: ({ bareAddress, text }) => bareAddress.startsWith('@') || /^@[^@]+$/.test(text),
  },
  { reason: 'there is no "@" between name and domain', applies: ({ bareAddress }) => !bareAddress.includes('@') },
  { reason: 'it has one "@" too many', applies: ({ bareAddress }) => bareAddress.split('@').length > 2 },
  {
    reason: 'the name contains letters outside of ASCII, which v0.1 does not allow',
    applies: ({ local }) => /[^\x20-\x7e]/.test(local),
  },
  { reason: 'the name is longer than 64 characters', applies: ({ local }) => local.length > 64 },
  {
    reason: 'the name begins or ends with a dot, or has two dots in a row',
    applies: ({ local }) => /^\.|\.$|\.\./.test(local),
  },
  {
    reason: 'the name contains characters that are not allowed (RFC 5321)',
    applies: ({ local }) => !atomPattern.test(local),
  },
  { reason: 'there is no domain after the "@"', applies: ({ domain }) => domain === '' },
  {
    reason: 'the domain has a port or a path',
    applies: ({ domain }) => /[:/?#\\]/.test(domain) && !domain.startsWith('['),
  },
  { reason: 'the domain is a network address', applies: ({ domain }) => /^\[|^[\d.]+$/.test(domain) },
  {
    reason: 'the domain has only one label',
    applies: ({ domain }) => !domain.replace(/[.。．｡]$/u, '').match(/[.。．｡]/u),
  },
]

/**
 * Reads an address in any of its accepted spellings, `@a@d.tld`, `a@d.tld` or `acct:a@d.tld`.
 * @throws Rejection `malformed` with the reason
 */
export function parseSpelledAddress(text: string): Address {
  const bareAddress = text.replace(/^acct:/i, '').replace(/^@/, '')
  const atIndex = bareAddress.indexOf('@')
  const spelling = {
    text,
    bareAddress,
    local: bareAddress.slice(0, Math.max(0, atIndex)),
    domain: atIndex < 0 ? '' : bareAddress.slice(atIndex + 1),
  }
  const fault = spellingErrors.find(({ applies }) => applies(spelling))
  if (fault) throw new Rejection('malformed', `Cannot read address: ${fault.reason}`)
  try {
    return parseAddress(text)
  } catch (cause) {
    throw new Rejection('malformed', 'Cannot read address: the domain is not a DNS name', { cause })
  }
}
