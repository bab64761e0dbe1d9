import { hash } from 'node:crypto'
import type { AdmissionRule, Intake } from '@postern/core'
import { networkOf } from '@postern/http'
import type { RateLimit } from '@postern/limits'
import { createRateLimit } from '@postern/limits'
import { productionLimits } from '../config/own-schema.ts'
import type { Config } from '../config/schema.ts'

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
