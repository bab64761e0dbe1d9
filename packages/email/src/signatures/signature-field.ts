// Reads tags of a DKIM-Signature field before the verification.

import { toAsciiDomain } from '@postern/message'
import type { HeaderField } from '../mail/header.ts'

/** Returns true if a signature might speak for the author, by its `d=`. */
export function couldSignFor(field: HeaderField, authorDomain: string): boolean {
  const domain = toAsciiDomain(readTag(field, 'd'))
  return domain !== undefined && couldAlign(domain, authorDomain)
}

/** Returns the value of a tag (RFC 6376 §3.2). A repeated tag makes the signature invalid when it is verified. */
export function readTag({ value }: Pick<HeaderField, 'value'>, name: string): string {
  const tag = value.split(';').find(text => text.slice(0, text.indexOf('=')).trim() === name)
  return tag ? tag.slice(tag.indexOf('=') + 1).replace(/\s+/g, '') : ''
}

/**
 * Returns true if two domains may belong to one organization. The test is cheap. It may return true for unrelated
 * domains, but never false for related domains.
 */
function couldAlign(domain: string, authorDomain: string): boolean {
  return domain === authorDomain || lastLabels(domain) === lastLabels(authorDomain)
}

function lastLabels(domain: string): string {
  return domain.split('.').slice(-2).join('.')
}
