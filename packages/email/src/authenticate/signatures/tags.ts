import { toAsciiDomain } from '@postern/core'
import type { HeaderField } from '../../mail/header-scan.ts'
import { couldAlign } from './alignment.ts'

/** Whether a signature might speak for the author, by its `d=`. */
export function couldSignFor(field: HeaderField, authorDomain: string): boolean {
  const domain = toAsciiDomain(readTag(field, 'd'))
  return domain !== undefined && couldAlign(domain, authorDomain)
}

/** The DNS name of the key of a signature or seal. */
export function keyNameOf(field: HeaderField): string | undefined {
  const [domain, selector] = [toAsciiDomain(readTag(field, 'd')), readTag(field, 's').toLowerCase()]
  return domain && /^[a-z0-9._-]{1,200}$/.test(selector) ? `${selector}._domainkey.${domain}` : undefined
}

/** RFC 6376 §3.2; a name given twice makes the signature invalid later on. */
export function readTag({ value }: HeaderField, name: string): string {
  const tag = value.split(';').find(text => text.slice(0, text.indexOf('=')).trim() === name)
  return tag ? tag.slice(tag.indexOf('=') + 1).replace(/\s+/g, '') : ''
}
