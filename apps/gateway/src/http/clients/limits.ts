// Limits how many requests and messages each network address, host, connector, sender and agent gets a minute.
import { hash } from 'node:crypto'
import { networkOf } from '@postern/http'
import type { RateLimit } from '@postern/limits'
import { createRateLimit } from '@postern/limits'
import type { Sender } from '@postern/message'
import { listPeopleBehind } from '@postern/message'
import type { AdmissionRule, Intake } from '@postern/pipeline'
import { productionLimits } from '../../config/own-schema.ts'
import type { Config } from '../../config/schema.ts'

export interface Limits {
  /** Counts one request of a network address. @throws Rejection `rate_limited` */
  consumeAddress(address: string): void
  /** The rule that limits messages per host, per connector, per sender and per agent. */
  readonly messages: AdmissionRule
}

/** One bucket, and the key of the peer that uses it. */
type Share = readonly [limit: RateLimit, key: string]

type Counting = (intake: Intake, from: string) => readonly Share[]

/** Creates the limits. They have defaults in production; dev mode has only those that the configuration sets. */
export function createLimits(
  { limits, dev }: Pick<Config, 'limits' | 'dev'>,
  now: () => number,
  isChat: (via: string) => boolean,
): Limits {
  const activeLimits = dev ? limits : { ...productionLimits, ...limits }
  const addresses = activeLimits.per_address ? createRateLimit({ perMinute: activeLimits.per_address }, now) : undefined
  const allCountings = [
    openHosts(activeLimits, now, isChat),
    openConnectors(activeLimits, now),
    openSenders(activeLimits, now),
    openAgentShares(activeLimits, now),
  ]
  const countings = allCountings.filter(counting => counting !== undefined)
  return {
    consumeAddress: address => addresses?.consume(networkOf(address)),
    messages: createRateLimitRule(countings),
  }
}

type RateLimits = Config['limits']

/** Creates a rule that counts a message in all buckets, or in none if one of them is empty. */
function createRateLimitRule(countings: readonly Counting[]): AdmissionRule {
  return {
    name: 'rate limits',
    count(intakes, from) {
      const shares = countOnce(intakes.flatMap(intake => countings.flatMap(counting => counting(intake, from))))
      for (const [limit, key] of shares) limit.check(key)
      for (const [limit, key] of shares) limit.consume(key)
    },
  }
}

/** Keeps one share of each bucket and key, so that a message to several agents counts once for its sender. */
function countOnce(shares: readonly Share[]): readonly Share[] {
  const sharesByLimit = new Map<RateLimit, Map<string, Share>>()
  for (const share of shares) {
    const [limit, key] = share
    const sharesByKey = sharesByLimit.get(limit) ?? new Map<string, Share>()
    sharesByLimit.set(limit, sharesByKey.set(key, share))
  }
  return [...sharesByLimit.values()].flatMap(ofLimit => [...ofLimit.values()])
}

/** Counts proven senders apart from the others, so that a forger of a name does not use up its owner’s limit. */
function openHosts(
  { per_host: perMinute }: RateLimits,
  now: () => number,
  isChat: (via: string) => boolean,
): Counting | undefined {
  if (!perMinute) return undefined
  const refusal = 'Cannot take message: too many from this host in a short time'
  const [provenLimit, claimedLimit] = [0, 1].map(() => createRateLimit({ perMinute, refusal }, now)) as [
    RateLimit,
    RateLimit,
  ]
  return ({ message: { sender, received_via: via } }) => {
    // People who chat share one host, as do people behind a connector. A few of them would use up the limit of all.
    if (isChat(via) || listPeopleBehind(sender).length > 0) return []
    const host = sender.address.slice(sender.address.lastIndexOf('@') + 1)
    return [[sender.verified ? provenLimit : claimedLimit, nameKey(via, host)]]
  }
}

/** Counts all people together who write through one connector. */
function openConnectors({ per_connector: perMinute }: RateLimits, now: () => number): Counting | undefined {
  if (!perMinute) return undefined
  const refusal = 'Cannot take message: too many from this connector in a short time'
  const limit = createRateLimit({ perMinute, refusal }, now)
  return ({ message: { sender, received_via: via } }) =>
    listPeopleBehind(sender).length > 0 ? [[limit, nameKey(via, sender.address)]] : []
}

/** Counts unproven senders by the claimed name and by the network address, so that made-up names do not help them. */
function openSenders({ per_identity, per_unverified }: RateLimits, now: () => number): Counting | undefined {
  const refusal = 'Cannot take message: too many from this sender in a short time'
  const openLimit = (perMinute: number | undefined) => perMinute && createRateLimit({ perMinute, refusal }, now)
  const provenLimit = openLimit(per_identity)
  const [claimedLimit, originLimit] = [openLimit(per_unverified ?? per_identity), openLimit(per_unverified)]
  if (!provenLimit && !claimedLimit) return undefined
  return ({ message: { sender, received_via: via } }, from) => {
    const key = nameKey(via, sender.address)
    if (sender.verified) return listProvenNames(sender).flatMap(name => share(provenLimit, nameKey(via, name)))
    return [...share(claimedLimit, key), ...share(originLimit, nameKey(via, networkOf(from)))]
  }
}

/** Returns the proven authors of a message: the people behind a connector, not the connector itself. */
function listProvenNames(sender: Sender): readonly string[] {
  const people = listPeopleBehind(sender)
  return people.length > 0 ? people : [sender.address]
}

/** Leaves at least half of an agent’s limit to proven senders. */
function openAgentShares({ per_agent: perMinute }: RateLimits, now: () => number): Counting | undefined {
  if (!perMinute) return undefined
  const refusal = 'Cannot take message: too many for this agent in a short time'
  const agentLimit = createRateLimit({ perMinute, refusal }, now)
  const unprovenLimit = createRateLimit({ perMinute: perMinute / 2, refusal }, now)
  return ({ agent, message: { sender } }) => [
    [agentLimit, agent],
    ...(sender.verified ? [] : [[unprovenLimit, agent] as const]),
  ]
}

function share(limit: RateLimit | 0 | undefined, key: string): readonly Share[] {
  return limit ? [[limit, key]] : []
}

/** The maximum length of a key, characters. Names that peers make up may be long, and the gateway remembers ten thousand keys of each kind. */
const maxKeyChars = 300

function nameKey(via: string, name: string): string {
  const key = `${via} ${name}`
  return key.length > maxKeyChars ? hash('sha256', key) : key
}
