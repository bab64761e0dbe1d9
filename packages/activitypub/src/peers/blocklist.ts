import type { Part } from '@postern/core'
import { isHostLength, parseUrl, toAsciiDomain } from '@postern/core'
import type { ActivityPubConfig } from '../config.ts'
import { asObject, idOf, idsOf } from '../format/reading.ts'

/** Whether nothing is taken from this host, fetched there or sent there. `host` is lower-case A-labels, without port. */
export type IsBlocked = (host: string) => boolean

/** Whoever is blocked stays so, allowed or not; with an allow list, everybody else is, too. */
export function createBlocklist({ block, allow }: Pick<ActivityPubConfig, 'block' | 'allow'>): IsBlocked {
  const isNamedBlocked = matchDomains(block)
  const isAllowed = allow.length === 0 ? () => true : matchDomains(allow)
  // No such host can exist, and each label costs a look.
  return host => !isHostLength(host) || isNamedBlocked(host) || !isAllowed(host)
}

/** A domain stands for itself and everything below it: one look for each of at most 127 labels, however long the list. */
function matchDomains(domains: readonly string[]): (host: string) => boolean {
  const listed = new Set(domains.map(toAsciiDomain))
  if (listed.size === 0) return () => false
  return host => {
    for (let rest: string | undefined = dropRootDots(host); rest; rest = parentOf(rest))
      if (listed.has(rest)) return true
    return false
  }
}

function dropRootDots(host: string): string {
  return host.endsWith('.') ? host.replace(/\.+$/, '') : host
}

function parentOf(host: string): string | undefined {
  const dot = host.indexOf('.')
  return dot < 0 ? undefined : host.slice(dot + 1)
}

/** Whether an address on the web, of whatever scheme, lies on a blocked host. What is no address lies nowhere. */
export function isBlockedAddress(url: string, isBlocked: IsBlocked): boolean {
  const host = parseUrl(url)?.hostname
  return host !== undefined && isBlocked(host)
}

/** Whether a link or a file leads to a blocked host. */
export function isBlockedPart(part: Part, isBlocked: IsBlocked): boolean {
  if (part.kind === 'link') return isBlockedAddress(part.url, isBlocked)
  return part.kind === 'file' && part.bytes_ref.kind === 'url' && isBlockedAddress(part.bytes_ref.url, isBlocked)
}

/**
 * Whether what an activity is about comes from a blocked host: by its id, or by whom it is attributed to. That is how a
 * blocked domain's posts come in by way of others: boosted, passed on by a relay (CVE-2026-23961).
 */
export function isAboutBlocked(activity: Readonly<Record<string, unknown>>, isBlocked: IsBlocked): boolean {
  const id = idOf(activity.object)
  const named = [...(id ? [id] : []), ...idsOf(asObject(activity.object)?.attributedTo)]
  return named.some(iri => isBlockedAddress(iri, isBlocked))
}
