// Parses an address as people spell it, and names the error of any other text (MN-1.2).
import type { Address } from '@postern/message'
import { parseAddress, Rejection } from '@postern/message'

interface Spelling {
  readonly text: string
  /** The text without `acct:` and one leading `@`. */
  readonly bareAddress: string
  readonly local: string
  readonly domain: string
}

interface SpellingError {
  readonly reason: string
  applies(spelling: Spelling): boolean
}

const schemePattern = /^([a-z][a-z0-9+.-]*):/i
const atomPattern = /^[a-z0-9!#$%&'*+/=?^_`{|}~.-]+$/i

/** The reasons why a text is not an address (MN-1.2). The first reason that applies counts. */
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
 * Parses an address in any of its accepted spellings, `@a@d.tld`, `a@d.tld` or `acct:a@d.tld`.
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
  const spellingError = spellingErrors.find(({ applies }) => applies(spelling))
  if (spellingError) throw new Rejection('malformed', `Cannot read address: ${spellingError.reason}`)
  try {
    return parseAddress(text)
  } catch (cause) {
    throw new Rejection('malformed', 'Cannot read address: the domain is not a DNS name', { cause })
  }
}
