// Tells public Internet addresses from private and special ones.
import { BlockList, isIP } from 'node:net'

/** Addresses outside the ordinary unicast space of the public Internet (RFC 6890 and the IANA special-purpose registries). */
const specialIPv4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
] as const

/** The only global unicast space (RFC 4291 §2.4). Mapped, NAT64, ULA, link-local and multicast addresses are outside. */
const globalIPv6 = ['2000::/3'] as const

/** Ranges inside 2000::/3 that are not public: protocol assignments with Teredo and ORCHID, documentation, 6to4. */
const specialIPv6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'] as const

const blocks = {
  special4: createBlockList('ipv4', specialIPv4),
  global6: createBlockList('ipv6', globalIPv6),
  special6: createBlockList('ipv6', specialIPv6),
}

/** Returns true for a public address in its canonical text form, and false for any other text. */
export function isPublicAddress(ip: string): boolean {
  if (ip.includes('%')) return false
  const family = isIP(ip)
  if (family === 4) return !blocks.special4.check(ip, 'ipv4')
  return family === 6 && blocks.global6.check(ip, 'ipv6') && !blocks.special6.check(ip, 'ipv6')
}

function createBlockList(family: 'ipv4' | 'ipv6', ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [network = '', prefix = ''] = range.split('/')
    list.addSubnet(network, Number(prefix), family)
  }
  return list
}
