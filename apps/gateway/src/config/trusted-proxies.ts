import { BlockList, isIP } from 'node:net'
import type { Config } from './schema.ts'

export interface TrustedProxies {
  isTrusted(address: string): boolean
}

/** Nobody far away reaches a loopback socket but through a program of this machine. */
const loopbackNetworks = ['127.0.0.0/8', '::1']

/** The proxies that the file names; where it names none and the gateway listens on loopback, those of this machine. */
export function createTrustedProxies({ listen, network }: Pick<Config, 'listen' | 'network'>): TrustedProxies {
  const networks = network.trusted_proxies ?? (isLoopbackHost(listen.host) ? loopbackNetworks : [])
  const list = new BlockList()
  for (const each of networks) addNetwork(list, each)
  return { isTrusted: address => isIP(address) !== 0 && list.check(address, familyOf(address)) }
}

/** Whether a socket that is bound to `host` can be reached from this machine only. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

export const noTrustedProxy = {
  message: 'no proxy is trusted: all clients behind one share one rate limit',
  fix: 'Add the address of the proxy that ends TLS to network.trusted_proxies.',
} as const

/** In production there is a proxy: the origin is https, and the gateway ends no TLS. */
export function trustsNoProxy({ dev, listen, network }: Pick<Config, 'dev' | 'listen' | 'network'>): boolean {
  if (dev) return false
  return network.trusted_proxies ? network.trusted_proxies.length === 0 : !isLoopbackHost(listen.host)
}

function addNetwork(list: BlockList, network: string): void {
  const [address = '', prefix] = network.split('/')
  if (prefix === undefined) list.addAddress(address, familyOf(address))
  else list.addSubnet(address, Number(prefix), familyOf(address))
}

/** Of what is an address: the expression with which Node finds out takes longer to compile than the rest of a start's configuration. */
function familyOf(address: string): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4'
}
