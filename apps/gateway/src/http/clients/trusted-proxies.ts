// Finds the address of a client behind the proxies that the operator trusts.
import { BlockList, isIP } from 'node:net'
import { isLoopbackHost, peerAddress } from '@postern/http'
import type { Config } from '../../config/schema.ts'

export interface TrustedProxies {
  isTrusted(address: string): boolean
}

/** A remote client can reach a loopback socket only through a program on this machine. */
const loopbackNetworks = ['127.0.0.0/8', '::1']

/** Reads the proxies of the configuration. If the configuration names none, a gateway that listens on loopback trusts the proxies on its own machine. */
export function createTrustedProxies({ listen, network }: Pick<Config, 'listen' | 'network'>): TrustedProxies {
  const networks = network.trusted_proxies ?? (isLoopbackHost(listen.host) ? loopbackNetworks : [])
  const trustedNetworks = new BlockList()
  for (const trustedNetwork of networks) addNetwork(trustedNetworks, trustedNetwork)
  return { isTrusted: address => isIP(address) !== 0 && trustedNetworks.check(address, findFamily(address)) }
}

function addNetwork(networks: BlockList, network: string): void {
  const [address = '', prefix] = network.split('/')
  if (prefix === undefined) networks.addAddress(address, findFamily(address))
  else networks.addSubnet(address, Number(prefix), findFamily(address))
}

/** Returns the family of a valid address. Node's own check compiles a regular expression, which takes longer than reading the rest of the configuration. */
function findFamily(address: string): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4'
}

/** Returns the address of the client: the rightmost hop of `X-Forwarded-For` that is not a trusted proxy. */
export function findClientAddress(
  env: unknown,
  forwardedFor: string | undefined,
  { isTrusted }: TrustedProxies,
): string {
  let address = peerAddress(env)
  const hops = forwardedFor?.split(',') ?? []
  while (isTrusted(address)) {
    const previousHop = parseHop(hops.pop() ?? '')
    if (previousHop === undefined) break
    address = previousHop
  }
  return address
}

/** Reads the address of a hop, without a port. Returns undefined for anything else, because no trusted proxy has verified the hops to the left of it. */
function parseHop(hop: string): string | undefined {
  const trimmedHop = hop.trim()
  const hopAddress = trimmedHop.replace(/^\[([^\]]*)\](?::\d+)?$/, '$1').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
  const address = hopAddress.replace(/^::ffff:(?=\d+\.)/i, '')
  return isIP(address) ? address : undefined
}
