import type { Address } from '@postern/core'
import { parseAddress, Rejection } from '@postern/core'

interface Spelling {
  readonly text: string
  /** Without `acct:` and one leading `@`. */
  readonly bare: string
  readonly local: string
  readonly domain: string
}

interface Fault {
  readonly reason: string
  applies(spelling: Spelling): boolean
}

const scheme = /^([a-z][a-z0-9+.-]*):/i
const atom = /^[a-z0-9!#$%&'*+/=?^_`{|}~.-]+$/i

/** Why a text is no address (MN-1.2); the first row that applies is the reason. */
const faults: readonly Fault[] = [
  { reason: 'it is empty', applies: ({ text }) => text === '' },
  { reason: 'it holds spaces or control characters', applies: ({ text }) => /[\s\p{Cc}\p{Cf}]/u.test(text) },
  {
    reason: 'it begins with another scheme than "acct:"',
    applies: ({ bare }) => scheme.test(bare) && !bare.slice(0, bare.indexOf(':')).includes('@'),
  },
  {
    reason: 'there is no name before the "@"',
    applies: ({ bare, text }) => bare.startsWith('@') || /^@[^@]+$/.test(text),
  },
  { reason: 'there is no "@" between name and domain', applies: ({ bare }) => !bare.includes('@') },
  { reason: 'it has one "@" too many', applies: ({ bare }) => bare.split('@').length > 2 },
  {
    reason: 'the name holds letters outside of ASCII, which v0.1 does not have',
    applies: ({ local }) => /[^\x20-\x7e]/.test(local),
  },
  { reason: 'the name is longer than 64 characters', applies: ({ local }) => local.length > 64 },
  {
    reason: 'the name begins, ends or goes on with a dot too many',
    applies: ({ local }) => /^\.|\.$|\.\./.test(local),
  },
  { reason: 'the name holds characters that no name has (RFC 5321)', applies: ({ local }) => !atom.test(local) },
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
 * The address in any of its accepted spellings, `@a@d.tld`, `a@d.tld` or `acct:a@d.tld`.
 * @throws Rejection `malformed` with the reason
 */
export function readAskedAddress(text: string): Address {
  const bare = text.replace(/^acct:/i, '').replace(/^@/, '')
  const at = bare.indexOf('@')
  const spelling = { text, bare, local: bare.slice(0, Math.max(0, at)), domain: at < 0 ? '' : bare.slice(at + 1) }
  const fault = faults.find(({ applies }) => applies(spelling))
  if (fault) throw new Rejection('malformed', `Cannot read address: ${fault.reason}`)
  try {
    return parseAddress(text)
  } catch (cause) {
    throw new Rejection('malformed', 'Cannot read address: the domain is no DNS name', { cause })
  }
}
