import { maxUrlLength, parseUrl, Rejection } from '@postern/core'

/** An https IRI, parsed once. Hosts are compared in this parsed, punycoded form only (FEP-fe34). */
export interface Iri {
  readonly href: string
  readonly origin: string
  /** Lower-case A-labels, without port. */
  readonly host: string
}

/**
 * Reads an https IRI; `what` names it in the refusal.
 * @throws Rejection `malformed`: no IRI, another scheme, or user-info (which only serves to deceive readers), or
 * longer than is worth remembering
 */
export function parseIri(text: string, what: string): Iri {
  if (text.length > maxUrlLength) throw new Rejection('malformed', `Cannot read activity: ${what} is too long`)
  const url = toUrl(text)
  if (!url) throw new Rejection('malformed', `Cannot read activity: ${what} is not an https IRI without user-info`)
  return { href: text, origin: url.origin, host: url.hostname.replace(/\.$/, '') }
}

/** The host of an IRI, or undefined when it is no https IRI. */
export function findHost(text: string): string | undefined {
  return toUrl(text)?.hostname.replace(/\.$/, '')
}

/**
 * Whether `iri` is on `origin`. A literal prefix up to the path's slash cannot deceive, so most IRIs need no parsing.
 */
export function isOnOrigin(iri: string, origin: string): boolean {
  if (iri.length > maxUrlLength) return false
  return (iri.startsWith(origin) && iri[origin.length] === '/') || toUrl(iri)?.origin === origin
}

/** An address a reader may be sent to: http(s) only, in its normal form. */
export function findWebAddress(text: string | undefined): string | undefined {
  const url = text ? parseUrl(text) : undefined
  return url && /^https?:$/.test(url.protocol) ? url.href : undefined
}

function toUrl(text: string): URL | undefined {
  const url = parseUrl(text)
  return url?.protocol === 'https:' && !url.username && !url.password ? url : undefined
}
