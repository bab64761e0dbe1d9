// Parses https IRIs of actors and objects, and compares their origins.
import type { ParsedUrl } from '@postern/message'
import { maxUrlLength, parseUrl } from '@postern/message'
import { malformedActivity } from './malformed-activity.ts'

/** A parsed https IRI. Hosts are compared in this parsed, punycoded form only (FEP-fe34). */
export interface Iri {
  readonly href: string
  readonly origin: string
  /** The host in lower-case A-labels, without port. */
  readonly host: string
}

/**
 * Parses an https IRI. `label` names it in the refusal.
 * @throws Rejection `malformed`: no IRI, another scheme, user-info (which only serves to deceive readers), or too long
 */
export function parseIri(text: string, label: string): Iri {
  if (text.length > maxUrlLength) throw malformedActivity(`${label} is too long`)
  const iri = findIri(text)
  if (!iri) throw malformedActivity(`${label} is not an https IRI without user-info`)
  return iri
}

/** Parses an https IRI like `parseIri`, and returns undefined for any other text. */
export function findIri(text: string): Iri | undefined {
  const url = parseHttpsUrl(text)
  return url && { href: text, origin: url.origin, host: url.hostname.replace(/\.$/, '') }
}

/** Returns the host of an https IRI, or undefined for any other text. */
export function findHost(text: string): string | undefined {
  return parseHttpsUrl(text)?.hostname.replace(/\.$/, '')
}

/**
 * Returns true if `iri` is on `origin`. A literal prefix up to the slash of the path cannot deceive, so most IRIs need no
 * parsing.
 */
export function isOnOrigin(iri: string, origin: string): boolean {
  if (iri.length > maxUrlLength) return false
  return (iri.startsWith(origin) && iri[origin.length] === '/') || parseHttpsUrl(iri)?.origin === origin
}

/** Returns the normal form of an http(s) address that a reader may be sent to. */
export function findWebUrl(text: string | undefined): string | undefined {
  const url = text ? parseUrl(text) : undefined
  return url && /^https?:$/.test(url.protocol) ? url.href : undefined
}

function parseHttpsUrl(text: string): ParsedUrl | undefined {
  const url = parseUrl(text)
  return url?.protocol === 'https:' && !url.username && !url.password ? url : undefined
}
