// Finds the network address of a request's client, and the network that it belongs to.

import { isIPv6 } from 'node:net'

interface ServerEnv {
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string | undefined } | undefined } | undefined
  /** The address of the client, if the program has determined it from the headers of its own proxies. */
  readonly clientAddress?: string | undefined
}

/** Returns the network address of a request, from the bindings of the Node server, or `''` if there is none. */
export function peerAddress(env: unknown): string {
  const { clientAddress, incoming } = (env as ServerEnv | null | undefined) ?? {}
  return clientAddress ?? (incoming?.socket?.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/i, '')
}

/** Returns the network of one subscriber: an IPv4 address, or the first 64 bits of IPv6, because a subscriber chooses the other 64 (RFC 7421). */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const [leadingGroups = [], trailingGroups = []] = address.split('::').map(half => (half ? half.split(':') : []))
  const omittedCount = 8 - leadingGroups.length - trailingGroups.length - (address.includes('.') ? 1 : 0)
  const groups = [...leadingGroups, ...Array.from({ length: omittedCount }, () => '0'), ...trailingGroups].slice(0, 4)
  return `${groups.map(group => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}
