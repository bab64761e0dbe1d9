import type { Part } from '@postern/core'
import { isHostLength, parseUrl, toAsciiDomain } from '@postern/core'
import type { ActivityPubConfig } from '../config.ts'
import { asObject, idOf, idsOf } from '../format/reading.ts'

/**
 * Whether a host is blocked: nothing is accepted, fetched or sent there. `host` is lower-case A-labels, without port.
 */
export type IsBlocked = (host: string) => boolean

/** A blocked host stays blocked, allowed or not. With an allow list, all other hosts are blocked, too. */
export function createBlocklist({ block, allow }: Pick<ActivityPubConfig, 'block' | 'allow'>): IsBlocked {
  const isNamedBlocked = matchDomains(block)
  const isAllowed = allow.length === 0 ? () => true : matchDomains(allow)
  // No such host can exist, and each label costs a look.
  return host => !isHostLength(host) || isNamedBlocked(host) || !isAllowed(host)
}

/**
 * A domain covers itself and everything below it. That takes one look for each of at most 127 labels, however long the
 * list is.
 */
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

/** Whether a web address, of whatever scheme, is on a blocked host. A text that is no address is on none. */
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
 * Whether the object of an activity comes from a blocked host, by its id or by its author. Posts of a blocked domain
 * come in this way through others: boosted, or by a relay (CVE-2026-23961).
 */
export function isAboutBlocked(activity: Readonly<Record<string, unknown>>, isBlocked: IsBlocked): boolean {
  const id = idOf(activity.object)
  const named = [...(id ? [id] : []), ...idsOf(asObject(activity.object)?.attributedTo)]
  return named.some(iri => isBlockedAddress(iri, isBlocked))
}
