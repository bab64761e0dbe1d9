import { Unavailable, Undeliverable } from '../format/errors.ts'
import type { Json } from '../format/notations.ts'
import { findDestinationHost } from '../message/address/address.ts'
import type { RetryPolicy } from '../ports/agent/turn-context.ts'
import type { AnsweredTurn, Channel } from '../ports/channel.ts'
import { findChannel } from '../ports/channel.ts'
import type { Platform } from '../ports/platform/platform.ts'
import type { Delivery, Settlement } from '../ports/records/work.ts'
import type { DeliveryReply } from '../ports/trace/trace.ts'
import type { ResultStore } from '../ports/work-store.ts'
import { postponementOf, settlementFor } from '../turn/retry.ts'
import type { BreakerPolicy, HostState, Tried } from './host-health.ts'
import {
  defaultBreakerPolicy,
  findWay,
  isWorthKeeping,
  learnOf,
  logChange,
  nameReason,
  unknownHost,
} from './host-health.ts'
import { addTo } from './work-pool.ts'

export interface Sending {
  readonly results: Pick<ResultStore, 'settle'>
  readonly platform: Pick<Platform, 'now' | 'randomBytes' | 'log'>
  readonly retry: RetryPolicy
  /** Without one every delivery is tried when it is due. */
  readonly breaker?: Breaker | undefined
  readonly channels: readonly Channel[]
}

/** render → deliver → settle: sent, later with a time, or dead with a reason. */
export async function send(delivery: Delivery, sending: Sending): Promise<Settlement> {
  const settlement = await trySend(delivery, sending)
  await sending.results.settle(delivery, settlement)
  logSettlement(delivery, settlement, sending.platform)
  return settlement
}

function logSettlement(delivery: Delivery, settlement: Settlement, { log }: Sending['platform']): void {
  const { id, via, to, attempt, correlationId } = delivery
  const { state } = settlement
  const error = settlement.state === 'sent' ? undefined : settlement.error
  const fields = { correlation_id: correlationId, delivery: id, via, to, attempt, state, error }
  if (settlement.state === 'later' && settlement.uncounted) log.debug(fields, 'delivery put off')
  else log.info(fields, 'delivery settled')
}

async function trySend(delivery: Delivery, sending: Sending): Promise<Settlement> {
  const channel = findChannel(sending.channels, delivery.via)
  if (!channel) return { state: 'dead', error: `the channel "${delivery.via}" is not open` }
  const host = findDestinationHost(delivery.to)
  const admission = host === undefined ? undefined : await sending.breaker?.admit(host)
  if (admission?.waitUntil !== undefined) return postpone(delivery, admission, sending)
  let tried: Tried = { health: 'unknown' }
  try {
    const { settlement, error } = await attemptDelivery(delivery, channel, sending)
    tried = readHealth(error)
    return settlement
  } finally {
    admission?.report(tried)
  }
}

function postpone(
  { attempt, queuedAt }: Delivery,
  { waitUntil, reason }: { readonly waitUntil: number; readonly reason: string },
  { platform, retry }: Sending,
): Settlement {
  return postponementOf(
    { waitUntil, reason, attempt, queuedAt, now: platform.now(), chance: drawChance(platform) },
    retry,
  )
}

/** `error`: what kept it from being sent. */
async function attemptDelivery(
  delivery: Delivery,
  channel: Channel,
  { platform, retry }: Sending,
): Promise<{ readonly settlement: Settlement; readonly error?: unknown }> {
  let wire: Settlement['wire']
  const [at, begun] = [platform.now(), performance.now()]
  const timed = (reply: DeliveryReply) => ({ ...reply, at, ms: Math.round(performance.now() - begun) })
  try {
    const prepared = channel.prepare(delivery)
    wire = prepared.wire
    const { note, ...reply } = await prepared.transmit()
    return { settlement: { state: 'sent', wire, note, attempt: timed(reply) } }
  } catch (error) {
    platform.log.warn({ correlation_id: delivery.correlationId, delivery: delivery.id, err: error }, 'delivery failed')
    const { attempt, queuedAt } = delivery
    const failed = { error, attempt, queuedAt, now: platform.now(), chance: drawChance(platform) }
    return { settlement: { ...settlementFor(failed, retry), wire, attempt: timed(readReply(error)) }, error }
  }
}

/** What the far side said, where it said anything. */
function readReply(error: unknown): DeliveryReply {
  if (!(error instanceof Unavailable || error instanceof Undeliverable)) return {}
  const { status, replyLine } = error
  return { ...(status !== undefined && { status }), ...(replyLine !== undefined && { reply_line: replyLine }) }
}

function drawChance({ randomBytes }: Pick<Platform, 'randomBytes'>): number {
  return (randomBytes(1)[0] ?? 0) / 256
}

/** The documents that an answer becomes, each once however many destinations get it. Nothing is sent. */
export function renderUnsent(
  { address, prepare }: Pick<Channel, 'address' | 'prepare'>,
  answered: AnsweredTurn,
): readonly Json[] {
  const { turn, response } = answered
  const { deliveries, rendering } = address(answered)
  const { via, agent, correlationId, content: message } = turn
  const queuedAt = Date.parse(response.created_at)
  const documents = deliveries.map(({ to, target }) => {
    const whole = { id: '0', token: 0, attempt: 1, queuedAt, via, agent, to, target, correlationId, message }
    return prepare({ ...whole, response, rendering }).wire
  })
  return [...new Map(documents.map(document => [JSON.stringify(document), document])).values()]
}

/** A try may be made, and has to `report` how it ended, whatever happened; or it has to wait until then, ms. */
export type Admission =
  | { readonly waitUntil?: undefined; report(tried: Tried): void }
  | { readonly waitUntil: number; readonly reason: string }

/** Leaves hosts alone that do not answer, so that they cost a few tries instead of one per delivery. A hint that may be lost. */
export interface Breaker {
  /** Resolves late where others are just finding out whether the host lives: never longer than a try takes. */
  admit(host: string): Promise<Admission>
  /** Hosts that nothing is sent to now. */
  listLeftAlone(): readonly LeftAloneHost[]
}

export interface LeftAloneHost {
  readonly host: string
  /** ms */
  readonly until: number
  readonly reason: string
  /** Until when it is not tried because it does not answer, ms. */
  readonly openUntil?: number | undefined
  /** Until when it asked to be left alone (`Retry-After`), ms. */
  readonly heldUntil?: number | undefined
}

export function createBreaker(
  { now, log, sleep }: Pick<Platform, 'now' | 'log' | 'sleep'>,
  policy: BreakerPolicy = defaultBreakerPolicy,
): Breaker {
  const states = createHostStates(policy, now)
  /** Tries under way, of all hosts: never more than there are slots for deliveries. */
  const running = new Map<string, number>()
  const countRunning = (host: string) => running.get(host) ?? 0
  /** Whoever waits for the next report about a host. */
  const news = new Map<string, AbortController>()

  function learn(host: string, tried: Tried, before = unknownHost): void {
    const after = learnOf(before, tried, { now: now(), policy })
    states.set(host, after)
    logChange(log, host, before, after)
  }

  function begin(host: string): Admission {
    addTo(running, host, 1)
    return {
      report(tried) {
        addTo(running, host, -1)
        const known = states.get(host)
        // Nothing is kept of a host that lives and asks for nothing.
        if (known || tried.health !== 'lives' || tried.askedMs !== undefined) learn(host, tried, known)
        news.get(host)?.abort()
        news.delete(host)
      },
    }
  }

  async function awaitNews(host: string): Promise<void> {
    const awaited = news.get(host) ?? new AbortController()
    news.set(host, awaited)
    await sleep(policy.probeMs, awaited.signal)
  }

  return {
    async admit(host) {
      for (;;) {
        const state = states.get(host)
        if (!state) return begin(host)
        const at = now()
        const way = findWay(state, { running: countRunning(host), now: at, policy })
        if (way === 'later') return toWaiting(state, at)
        if (way === 'go') {
          if (state.openUntil !== undefined)
            states.set(host, { ...state, probeUntil: at + policy.probeMs, touchedAt: at })
          return begin(host)
        }
        await awaitNews(host)
      }
    },
    listLeftAlone: () => listHostsLeftAlone(states, now()),
  }
}

function listHostsLeftAlone(states: HostStates, at: number): readonly LeftAloneHost[] {
  return [...states.entries()].flatMap(([host, state]) => {
    const { openUntil = 0, heldUntil } = state
    const until = Math.max(openUntil, heldUntil)
    if (until <= at) return []
    const causes = { ...(openUntil > at && { openUntil }), ...(heldUntil > at && { heldUntil }) }
    return [{ host, until, reason: nameReason(state, at), ...causes }]
  })
}

function toWaiting(state: HostState, now: number): Admission {
  const { openUntil = 0, heldUntil } = state
  return { waitUntil: Math.max(openUntil, heldUntil), reason: nameReason(state, now) }
}

/**
 * What the end of a try tells about the host. Whoever answers lives, also when it refuses; only 5xx and silence are failures.
 * An error of another kind is ours. A stranger who names addresses of a host must not have it left alone.
 */
export function readHealth(error: unknown): Tried {
  if (error === undefined) return { health: 'lives' }
  if (error instanceof Undeliverable) return { health: error.status === undefined ? 'unknown' : 'lives' }
  if (!(error instanceof Unavailable) || error.isHearsay) return { health: 'unknown' }
  const { status, retryAfter } = error
  const lives = status !== undefined && status < 500
  return { health: lives ? 'lives' : 'failing', askedMs: retryAfter === undefined ? undefined : retryAfter * 1_000 }
}

interface HostStates {
  get(host: string): HostState | undefined
  set(host: string, state: HostState): void
  entries(): Iterable<readonly [host: string, state: HostState]>
}

/** Bounded in number and time, the longest untouched first: hosts are made up by strangers (CVE-2026-69132). */
function createHostStates({ maxHosts, keepMs }: BreakerPolicy, now: () => number): HostStates {
  const states = new Map<string, HostState>()

  function dropOld(): void {
    for (const [host, { touchedAt }] of states) {
      if (states.size <= maxHosts && touchedAt > now() - keepMs) return
      states.delete(host)
    }
  }

  return {
    get(host) {
      dropOld()
      return states.get(host)
    },
    set(host, state) {
      states.delete(host)
      if (isWorthKeeping(state, now())) states.set(host, state)
      dropOld()
    },
    entries: () => states,
  }
}
