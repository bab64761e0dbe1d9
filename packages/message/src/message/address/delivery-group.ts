// Groups deliveries by their destination host, or by the caller who named their address.

import type { Json } from '../../format/json.ts'
import { isJsonObject } from '../../format/json.ts'
import { parseUrl } from '../../format/web-url.ts'

/** The group of all mail, because every mailbox is reached through the one mail server that the configuration names. */
export const mailGroup = 'mail server'

/**
 * Returns the group of deliveries that fail together: the host of a URL, without its port (64 ports of one machine are one host), or the mail
 * server of a mailbox. Returns undefined for a name that has to be looked up first.
 */
export function findDeliveryGroup(to: string): string | undefined {
  if (/^https?:/i.test(to)) return parseUrl(to)?.hostname
  return /^[^@\s]+@[^@\s]+$/.test(to) ? mailGroup : undefined
}

/** The number of groups for callers who name addresses themselves. Each caller belongs to one of them. */
export const callerGroups = 32

/** The beginning of the name of such a group. */
export const callerGroupPrefix = 'addresses of callers '

/**
 * Returns the group whose share of the slots a delivery uses. An address that a caller named counts for the caller, because callers can invent any
 * number of hosts. Any other address belongs to the group that `findDeliveryGroup` returns.
 */
export function findShareGroup({ to, target }: { readonly to: string; readonly target: Json }): string | undefined {
  if (!isJsonObject(target) || typeof target.watch !== 'string' || typeof target.owner !== 'string')
    return findDeliveryGroup(to)
  return `${callerGroupPrefix}${hashText(target.owner) % callerGroups}`
}

/** Computes FNV-1a over UTF-16 code units, in 32 bits. */
function hashText(text: string): number {
  let hashValue = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1)
    hashValue = Math.imul(hashValue ^ text.charCodeAt(index), 0x01000193) >>> 0
  return hashValue
}
