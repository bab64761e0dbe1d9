// Computes the keys of recorded answers of other hosts and of DNS, so that a replay finds them.
import type { FetchRequest } from '@postern/message'

/**
 * Returns the key by which the store records a request. Undefined for a request that changes something, or that shows a credential: such an answer
 * is for the holder of the credential only.
 */
export function fetchKeyOf(url: string, { method = 'GET', headers = {} }: FetchRequest = {}): string | undefined {
  if (method !== 'GET') return undefined
  const fields = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  if ('authorization' in fields || 'cookie' in fields) return undefined
  return `GET ${fields.accept ?? '*/*'} ${url}`
}

/** Returns the key by which the store records a DNS query. */
export function dnsKeyOf(name: string, type: string): string {
  return `DNS ${type.toUpperCase()} ${name.toLowerCase()}`
}
