// Recognizes blocked hosts, and addresses, parts and activities of such hosts.

import type { Part } from '@postern/message'
import { isHostLength, parseUrl, toAsciiDomain } from '@postern/message'
import type { ActivityPubConfig } from '../config.ts'
import { asObject, idOf, idsOf } from '../format/json-object.ts'

/**
 * Returns true if a host is blocked, so that the gateway accepts, fetches and sends nothing there. `host` is in lower-case A-labels without a
 * port.
 */
export type IsBlocked = (host: string) => boolean

/** Creates the check. A blocked host stays blocked even if it is also allowed. If there is an allow list, all other hosts are blocked too. */
export function createBlocklist({ block, allow }: Pick<ActivityPubConfig, 'block' | 'allow'>): IsBlocked {
  const isInBlockList = matchDomains(block)
  const isAllowed = allow.length === 0 ? () => true : matchDomains(allow)
  // A host name of invalid length cannot exist, and each of its labels would cost a comparison.
  return host => !isHostLength(host) || isInBlockList(host) || !isAllowed(host)
}

/**
 * Creates the match of a host with domains. A domain includes all its sub-domains. A match costs one comparison for each of at most 127 labels,
 * regardless of the length of the list.
 */
function matchDomains(domains: readonly string[]): (host: string) => boolean {
  const asciiDomains = new Set(domains.map(toAsciiDomain))
  if (asciiDomains.size === 0) return () => false
  return host => {
    for (let domain: string | undefined = dropRootDots(host); domain; domain = findParentDomain(domain))
      if (asciiDomains.has(domain)) return true
    return false
  }
}

function dropRootDots(host: string): string {
  return host.endsWith('.') ? host.replace(/\.+$/, '') : host
}

function findParentDomain(host: string): string | undefined {
  const dot = host.indexOf('.')
  return dot < 0 ? undefined : host.slice(dot + 1)
}

/** Returns true if a web address of any scheme is on a blocked host. Returns false for any other text. */
export function isBlockedUrl(url: string, isBlocked: IsBlocked): boolean {
  const host = parseUrl(url)?.hostname
  return host !== undefined && isBlocked(host)
}

/** Returns true if a link or a file leads to a blocked host. */
export function isBlockedPart(part: Part, isBlocked: IsBlocked): boolean {
  if (part.kind === 'link') return isBlockedUrl(part.url, isBlocked)
  return part.kind === 'file' && part.bytes_ref.kind === 'url' && isBlockedUrl(part.bytes_ref.url, isBlocked)
}

/**
 * Returns true if the object of an activity comes from a blocked host, by its id or by its author. Other servers boost or
 * relay posts of a blocked domain (CVE-2026-23961).
 */
export function isAboutBlockedHost(activity: Readonly<Record<string, unknown>>, isBlocked: IsBlocked): boolean {
  const id = idOf(activity.object)
  const owners = [...(id ? [id] : []), ...idsOf(asObject(activity.object)?.attributedTo)]
  return owners.some(iri => isBlockedUrl(iri, isBlocked))
}
