import { hash } from 'node:crypto'
import { BlockList, isIP } from 'node:net'
import type { AdmissionRule, Intake, Log } from '@postern/core'
import { isPublicAddress, networkOf, peerAddress } from '@postern/http'
import type { RateLimit } from '@postern/limits'
import { createRateLimit } from '@postern/limits'
import { productionLimits } from '../config/own-schema.ts'
import type { Config } from '../config/schema.ts'
import { isLoopbackHost } from '../config/trusted-proxies.ts'

export interface Limits {
  /** Counts one request of a network address. @throws Rejection `rate_limited` */
  takeAddress(address: string): void
  /** Messages per host, per sender and per agent. */
  readonly messages: AdmissionRule
}

/** One bucket, and whose it is. */
type Share = readonly [limit: RateLimit, key: string]

type Counting = (intake: Intake, from: string) => readonly Share[]

/** Limits hold in production by default and in dev mode only where the file sets them. */
export function createLimits(
  { limits, dev }: Pick<Config, 'limits' | 'dev'>,
  now: () => number,
  isChat: (via: string) => boolean,
): Limits {
  const set = dev ? limits : { ...productionLimits, ...limits }
  const addresses = set.per_address ? createRateLimit({ perMinute: set.per_address }, now) : undefined
  const countings = [openHosts(set, now, isChat), openSenders(set, now), openAgentShares(set, now)].filter(
    counting => counting !== undefined,
  )
  return {
    takeAddress: address => addresses?.take(networkOf(address)),
    messages: createRateLimitRule(countings),
  }
}

type Set = Config['limits']

/** All of them have room, or nothing is taken of any. */
function createRateLimitRule(countings: readonly Counting[]): AdmissionRule {
  return {
    name: 'rate limits',
    count(intakes, from) {
      const shares = countOnce(intakes.flatMap(intake => countings.flatMap(counting => counting(intake, from))))
      for (const [limit, key] of shares) limit.check(key)
      for (const [limit, key] of shares) limit.take(key)
    },
  }
}

/** A message to several agents is one message of its sender. */
function countOnce(shares: readonly Share[]): readonly Share[] {
  const seen = new Map<RateLimit, Map<string, Share>>()
  for (const share of shares) {
    const [limit, key] = share
    const ofLimit = seen.get(limit) ?? new Map<string, Share>()
    seen.set(limit, ofLimit.set(key, share))
  }
  return [...seen.values()].flatMap(ofLimit => [...ofLimit.values()])
}

/** Whoever only claims a name must not use up what its owner may send: those who prove who they are are counted apart from all others. */
function openHosts(
  { per_host: perMinute }: Set,
  now: () => number,
  isChat: (via: string) => boolean,
): Counting | undefined {
  if (!perMinute) return undefined
  const refusal = 'Cannot take message: too many from this host in a short time'
  const [proven, claimed] = [0, 1].map(() => createRateLimit({ perMinute, refusal }, now)) as [RateLimit, RateLimit]
  return ({ message: { sender, received_via: via } }) => {
    // People who chat have no host of their own: a few of them would use up what all have.
    if (isChat(via)) return []
    const host = sender.address.slice(sender.address.lastIndexOf('@') + 1)
    return [[sender.verified ? proven : claimed, nameKey(via, host)]]
  }
}

/** Whoever proves nothing is counted by the claimed name and by the network address: making up names helps nobody. */
function openSenders({ per_identity, per_unverified }: Set, now: () => number): Counting | undefined {
  const refusal = 'Cannot take message: too many from this sender in a short time'
  const open = (perMinute: number | undefined) => perMinute && createRateLimit({ perMinute, refusal }, now)
  const proven = open(per_identity)
  const [claimed, origins] = [open(per_unverified ?? per_identity), open(per_unverified)]
  if (!proven && !claimed) return undefined
  return ({ message: { sender, received_via: via } }, from) => {
    const key = nameKey(via, sender.address)
    if (sender.verified) return proven ? [[proven, key]] : []
    return [...share(claimed, key), ...share(origins, nameKey(via, networkOf(from)))]
  }
}

/** However many they are, senders who prove nothing get half of what an agent takes. */
function openAgentShares({ per_agent: perMinute }: Set, now: () => number): Counting | undefined {
  if (!perMinute) return undefined
  const refusal = 'Cannot take message: too many for this agent in a short time'
  const all = createRateLimit({ perMinute, refusal }, now)
  const unproven = createRateLimit({ perMinute: perMinute / 2, refusal }, now)
  return ({ agent, message: { sender } }) => [[all, agent], ...(sender.verified ? [] : [[unproven, agent] as const])]
}

function share(limit: RateLimit | 0 | undefined, key: string): readonly Share[] {
  return limit ? [[limit, key]] : []
}

/** What peers make up may be long, and ten thousand keys are remembered of each kind. */
const longestKey = 300

function nameKey(via: string, name: string): string {
  const key = `${via} ${name}`
  return key.length > longestKey ? hash('sha256', key) : key
}

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

function addNetwork(list: BlockList, network: string): void {
  const [address = '', prefix] = network.split('/')
  if (prefix === undefined) list.addAddress(address, familyOf(address))
  else list.addSubnet(address, Number(prefix), familyOf(address))
}

/** Of what is an address: the expression with which Node finds out takes longer to compile than the rest of a start's configuration. */
function familyOf(address: string): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4'
}

/** Who is really connected: the last hop of `X-Forwarded-For`, read from the right, that is not a trusted proxy. */
export function findClientAddress(
  env: unknown,
  forwardedFor: string | undefined,
  { isTrusted }: TrustedProxies,
): string {
  let address = peerAddress(env)
  const hops = forwardedFor?.split(',') ?? []
  while (isTrusted(address)) {
    const before = parseHop(hops.pop() ?? '')
    if (before === undefined) break
    address = before
  }
  return address
}

/** Some proxies add the port. Undefined for what is no address: nobody vouches for what stands further left. */
function parseHop(hop: string): string | undefined {
  const text = hop.trim()
  const bare = text.replace(/^\[([^\]]*)\](?::\d+)?$/, '$1').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
  const address = bare.replace(/^::ffff:(?=\d+\.)/i, '')
  return isIP(address) ? address : undefined
}

export interface UnknownProxies {
  /** Looks at one request. */
  notice(env: unknown, headers: Headers): void
  /** Addresses, the oldest first. */
  list(): readonly string[]
}

export const untrustedProxyFix =
  'All its clients share one rate limit. If it is your proxy, add its address to network.trusted_proxies.'

/** More are not worth a warning each. */
const mostKnown = 16

/** Private peers that pass forwarded requests on and are not trusted: most likely the operator's own proxy. */
export function createUnknownProxies({ isTrusted }: TrustedProxies, log: Log): UnknownProxies {
  const known = new Set<string>()

  function notice(env: unknown, headers: Headers): void {
    if (known.size >= mostKnown || !(headers.has('x-forwarded-for') || headers.has('forwarded'))) return
    const proxy = peerAddress(env)
    if (proxy === '' || known.has(proxy) || isTrusted(proxy) || isPublicAddress(proxy)) return
    known.add(proxy)
    log.warn({ proxy }, `a proxy that is not trusted passes requests on: ${untrustedProxyFix}`)
  }

  return { notice, list: () => [...known] }
}
