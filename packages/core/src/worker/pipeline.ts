import { Rejection } from '../format/errors.ts'
import { findDestinationHost } from '../message/address/address.ts'
import type { ChannelName } from '../message/message.ts'
import type { RetryPolicy } from '../ports/agent/retry-policy.ts'
import type { Channel, Inbound } from '../ports/channel.ts'
import { findChannel } from '../ports/channel.ts'
import type { AdmissionDeps, AdmissionRule, IntakeStore } from '../ports/intake-store.ts'
import type { Platform } from '../ports/platform/platform.ts'
import { isoTime, randomHex } from '../ports/platform/platform.ts'
import type { Admitted, Intake } from '../ports/records/intake.ts'
import type { Delivery, Settlement } from '../ports/records/work.ts'
import type { WithdrawalStore } from '../ports/relation-store.ts'
import type { ResultStore } from '../ports/work-store.ts'
import { postponementOf, settlementFor } from '../turn/retry.ts'
import type { Breaker } from './breaker.ts'
import type { Tried } from './host-state.ts'
import { readHealth } from './host-state.ts'

/** What remembers a refusal. */
interface RefusalDeps {
  readonly store: Pick<IntakeStore, 'refuse'>
  readonly platform: Pick<Platform, 'now' | 'randomBytes' | 'log'>
  /** The peer's network address, for the operator. */
  readonly from: string
}

export interface Reception extends RefusalDeps {
  readonly admission: AdmissionDeps
  readonly store: Pick<IntakeStore, 'refuse'> & Pick<WithdrawalStore, 'withdraw'>
}

/**
 * verify → normalize → admission rules → admit. When it resolves, everything is durable and the peer may be told "accepted".
 * An empty list: well-formed, nothing to do.
 * @throws Rejection, Unavailable
 */
export async function receive<Raw, Proven>(
  inbound: Inbound<Raw, Proven>,
  raw: Raw,
  { admission, store, platform, from }: Reception,
): Promise<readonly Admitted[]> {
  try {
    const proven = await inbound.verify(raw)
    const intakes = applyRules(admission.rules, inbound.normalize(proven), from)
    const correlationId = randomHex(platform, 8)
    const admitted = await Promise.all(intakes.map(intake => admission.store.admit(intake, correlationId)))
    for (const { outcome, message } of admitted) {
      platform.log.info({ correlation_id: correlationId, via: inbound.name, message, outcome }, 'message admitted')
    }
    // Withdrawals come last, so that a peer that repeats its request still finds what it withdraws.
    const withdrawals = inbound.withdrawals?.(proven) ?? []
    if (withdrawals.length > 0) await store.withdraw(inbound.name, withdrawals)
    return admitted
  } catch (error) {
    recordRefusal(error, inbound.name, { store, platform, from })
    throw error
  }
}

/** Each rule of the list sees all messages before the next rule does. @throws Rejection of the first rule that refuses one */
function applyRules(rules: readonly AdmissionRule[], intakes: readonly Intake[], from: string): readonly Intake[] {
  let admitted = intakes
  for (const rule of rules) {
    rule.count?.(admitted, from)
    if (rule.admit) admitted = admitted.map(rule.admit)
  }
  return admitted
}

/**
 * Stores a message that the gateway makes itself. It passes the same rules as messages of peers, but is not counted: what local agents send one
 * another must not use up what peers may send. @throws Rejection
 */
export async function admitOwn(
  intake: Intake,
  { rules, store }: AdmissionDeps,
  correlationId: string,
): Promise<Admitted> {
  const admitted = rules.reduce((left, rule) => rule.admit?.(left) ?? left, intake)
  return store.admit(admitted, correlationId)
}

/** A refusal is remembered for the operator wherever on the way in it happens. */
export function recordRefusal(error: unknown, via: ChannelName, { store, platform, from }: RefusalDeps): void {
  if (!(error instanceof Rejection)) return
  store.refuse({ at: isoTime(platform.now()), via, from, code: error.code, reason: error.message })
  // Where a refusal was made tells nothing that its sentence does not; what was behind it may.
  const behind = error.cause === undefined ? {} : { err: error.cause }
  platform.log.info({ via, from, code: error.code, reason: error.message, ...behind }, 'message refused')
}

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
  try {
    const prepared = channel.prepare(delivery)
    wire = prepared.wire
    const { note } = await prepared.transmit()
    return { settlement: { state: 'sent', wire, note } }
  } catch (error) {
    platform.log.warn({ correlation_id: delivery.correlationId, delivery: delivery.id, err: error }, 'delivery failed')
    const { attempt, queuedAt } = delivery
    const failed = { error, attempt, queuedAt, now: platform.now(), chance: drawChance(platform) }
    return { settlement: { ...settlementFor(failed, retry), wire }, error }
  }
}

function drawChance({ randomBytes }: Pick<Platform, 'randomBytes'>): number {
  return (randomBytes(1)[0] ?? 0) / 256
}
