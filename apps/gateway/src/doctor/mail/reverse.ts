import { isIPv6 } from 'node:net'
import { judgePtr } from '../../checks/mail-dns.ts'
import type { CheckOutcome } from '../check.ts'
import { about, skip } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { findAddresses } from '../network/hosts.ts'
import { findMailHost } from './domain.ts'

/** Whether the address of the mail host has its name (RFC 8601 §2.7.3 "iprev"). */
export async function checkReverse(deps: DoctorDeps): Promise<CheckOutcome> {
  const host = await findMailHost(deps)
  if (host === undefined) return skip('MX', 'no MX record names a host; see mail.mx')
  const addresses = await Promise.all((['A', 'AAAA'] as const).map(family => findAddresses(host, family, deps.outside)))
  const [address] = addresses.flatMap(each => each ?? [])
  if (address === undefined) return skip(host, 'it has no address')
  const names = await deps.outside.resolveDns(reverseName(address), 'PTR').catch(() => [])
  return about(address, judgePtr(host, address, names as readonly string[]))
}

/** RFC 1035 §3.5, RFC 3596 §2.5. */
export function reverseName(address: string): string {
  if (!isIPv6(address)) return `${address.split('.').reverse().join('.')}.in-addr.arpa`
  const [left = [], right = []] = address.split('::').map(half => (half ? half.split(':') : []))
  const lost = Array.from({ length: 8 - left.length - right.length }, () => '0')
  const digits = [...left, ...lost, ...right].map(group => group.padStart(4, '0')).join('')
  return `${[...digits].reverse().join('.')}.ip6.arpa`
}
