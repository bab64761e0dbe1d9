// Limits the requests and messages per minute of each network address, host, connector, sender and agent.
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

/** The use of a limit: the limit, and the key that it counts. */
type LimitUse = readonly [limit: RateLimit, key: string]

type ListLimitUses = (intake: Intake, from: string) => readonly LimitUse[]

/** Creates the limits. They have defaults in production; dev mode has only those that the configuration sets. */
export function createLimits(
  { limits, dev }: Pick<Config, 'limits' | 'dev'>,
  now: () => number,
  isChat: (via: string) => boolean,
): Limits {
  const activeLimits = dev ? limits : { ...productionLimits, ...limits }
  const addressLimit = activeLimits.per_address
    ? createRateLimit({ perMinute: activeLimits.per_address }, now)
    : undefined
  const optionalListers = [
    createHostLister(activeLimits, now, isChat),
    createConnectorLister(activeLimits, now),
    createSenderLister(activeLimits, now),
    createAgentLister(activeLimits, now),
  ]
  const listers = optionalListers.filter(listUses => listUses !== undefined)
  return {
    consumeAddress: address => addressLimit?.consume(networkOf(address)),
    messages: createRateLimitRule(listers),
  }
}

type RateLimits = Config['limits']

/** Creates a rule that counts a message against all limits, or against none if one of them is exhausted. */
function createRateLimitRule(listers: readonly ListLimitUses[]): AdmissionRule {
  return {
    name: 'rate limits',
    count(intakes, from) {
      const uses = removeRepeatedUses(intakes.flatMap(intake => listers.flatMap(listUses => listUses(intake, from))))
      for (const [limit, key] of uses) limit.check(key)
      for (const [limit, key] of uses) limit.consume(key)
    },
  }
}

/** Removes repeated uses of a limit with the same key, so that a message to several agents counts once for its sender. */
function removeRepeatedUses(uses: readonly LimitUse[]): readonly LimitUse[] {
  const usesByLimit = new Map<RateLimit, Map<string, LimitUse>>()
  for (const use of uses) {
    const [limit, key] = use
    const usesByKey = usesByLimit.get(limit) ?? new Map<string, LimitUse>()
    usesByLimit.set(limit, usesByKey.set(key, use))
  }
  return [...usesByLimit.values()].flatMap(usesOfLimit => [...usesOfLimit.values()])
}

/** Counts proven senders apart from the others, so that a forger of a name does not use up its owner’s limit. */
function createHostLister(
  { per_host: perMinute }: RateLimits,
  now: () => number,
  isChat: (via: string) => boolean,
): ListLimitUses | undefined {
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
    return [[sender.verified ? provenLimit : claimedLimit, formatKey(via, host)]]
  }
}

/** Counts all people who write through one connector together. */
function createConnectorLister({ per_connector: perMinute }: RateLimits, now: () => number): ListLimitUses | undefined {
  if (!perMinute) return undefined
  const refusal = 'Cannot take message: too many from this connector in a short time'
  const limit = createRateLimit({ perMinute, refusal }, now)
  return ({ message: { sender, received_via: via } }) =>
    listPeopleBehind(sender).length > 0 ? [[limit, formatKey(via, sender.address)]] : []
}

/** Counts unproven senders by the claimed name and by the network address, so that invented names do not help them. */
function createSenderLister(
  { per_identity, per_unverified }: RateLimits,
  now: () => number,
): ListLimitUses | undefined {
  const refusal = 'Cannot take message: too many from this sender in a short time'
  const createLimit = (perMinute: number | undefined) => perMinute && createRateLimit({ perMinute, refusal }, now)
  const provenLimit = createLimit(per_identity)
  const [claimedLimit, originLimit] = [createLimit(per_unverified ?? per_identity), createLimit(per_unverified)]
  if (!provenLimit && !claimedLimit) return undefined
  return ({ message: { sender, received_via: via } }, from) => {
    const key = formatKey(via, sender.address)
    if (sender.verified) return listProvenNames(sender).flatMap(name => listUse(provenLimit, formatKey(via, name)))
    return [...listUse(claimedLimit, key), ...listUse(originLimit, formatKey(via, networkOf(from)))]
  }
}

/** Returns the proven authors of a message: the people behind a connector, not the connector itself. */
function listProvenNames(sender: Sender): readonly string[] {
  const people = listPeopleBehind(sender)
  return people.length > 0 ? people : [sender.address]
}

/** Leaves at least half of an agent’s limit to proven senders. */
function createAgentLister({ per_agent: perMinute }: RateLimits, now: () => number): ListLimitUses | undefined {
  if (!perMinute) return undefined
  const refusal = 'Cannot take message: too many for this agent in a short time'
  const agentLimit = createRateLimit({ perMinute, refusal }, now)
  const unprovenLimit = createRateLimit({ perMinute: perMinute / 2, refusal }, now)
  return ({ agent, message: { sender } }) => [
    [agentLimit, agent],
    ...(sender.verified ? [] : [[unprovenLimit, agent] as const]),
  ]
}

function listUse(limit: RateLimit | 0 | undefined, key: string): readonly LimitUse[] {
  return limit ? [[limit, key]] : []
}

/** The maximum length of a key, characters. Names that peers invent may be long, and each limit stores ten thousand keys. */
const maxKeyChars = 300

function formatKey(via: string, name: string): string {
  const key = `${via} ${name}`
  return key.length > maxKeyChars ? hash('sha256', key) : key
}
