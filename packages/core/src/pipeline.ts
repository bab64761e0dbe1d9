import type { Breaker } from './breaker.ts'
import type { IntakeDesk, WorkDesk } from './desk.ts'
import { findDestinationHost } from './destination-host.ts'
import { Rejection } from './errors.ts'
import type { Tried } from './host-state.ts'
import { readHealth } from './host-state.ts'
import type { Admitted } from './intake.ts'
import type { ChannelName } from './message.ts'
import type { Channel, Inbound } from './protocol.ts'
import type { WithdrawalDesk } from './relation.ts'
import type { RetryPolicy } from './retry.ts'
import { postponementOf, settlementFor } from './retry.ts'
import type { Delivery, Settlement } from './work.ts'
import type { World } from './world.ts'
import { isoTime, randomHex } from './world.ts'

export interface Reception {
  readonly desk: IntakeDesk & Pick<WithdrawalDesk, 'withdraw'>
  readonly world: Pick<World, 'now' | 'randomBytes' | 'log'>
  /** The peer's network address, for the operator. */
  readonly from: string
}

/**
 * verify → normalize → admit. When it resolves, everything is durable and the peer may be told "accepted".
 * An empty list: well-formed, nothing to do.
 * @throws Rejection, Unavailable
 */
export async function receive<Raw, Proven>(
  inbound: Inbound<Raw, Proven>,
  raw: Raw,
  { desk, world, from }: Reception,
): Promise<readonly Admitted[]> {
  try {
    const proven = await inbound.verify(raw)
    const intakes = inbound.normalize(proven)
    desk.countIn?.(intakes, from)
    const correlationId = randomHex(world, 8)
    const admitted = await Promise.all(intakes.map(intake => desk.admit(intake, correlationId)))
    for (const { outcome, message } of admitted) {
      world.log.info({ correlation_id: correlationId, via: inbound.name, message, outcome }, 'message admitted')
    }
    // Last, so that a peer that has to repeat itself still finds told what it takes back.
    const withdrawals = inbound.withdrawals?.(proven) ?? []
    if (withdrawals.length > 0) await desk.withdraw(inbound.name, withdrawals)
    return admitted
  } catch (error) {
    recordRefusal(error, inbound.name, { desk, world, from })
    throw error
  }
}

/** A refusal is remembered for the operator wherever on the way in it happens. */
export function recordRefusal(error: unknown, via: ChannelName, { desk, world, from }: Reception): void {
  if (!(error instanceof Rejection)) return
  desk.refuse({ at: isoTime(world.now()), via, from, code: error.code, reason: error.message })
  // Where a refusal was made tells nothing that its sentence does not; what was behind it may.
  const behind = error.cause === undefined ? {} : { err: error.cause }
  world.log.info({ via, from, code: error.code, reason: error.message, ...behind }, 'message refused')
}

export interface Sending {
  readonly desk: Pick<WorkDesk, 'settle'>
  readonly world: Pick<World, 'now' | 'randomBytes' | 'log'>
  readonly retry: RetryPolicy
  /** Without one every delivery is tried when it is due. */
  readonly breaker?: Breaker | undefined
  findChannel(name: ChannelName): Channel | undefined
}

/** render → deliver → settle: sent, later with a time, or dead with a reason. */
export async function send(delivery: Delivery, sending: Sending): Promise<Settlement> {
  const settlement = await trySend(delivery, sending)
  await sending.desk.settle(delivery, settlement)
  logSettlement(delivery, settlement, sending.world)
  return settlement
}

function logSettlement(delivery: Delivery, settlement: Settlement, { log }: Sending['world']): void {
  const { id, via, to, attempt, correlationId } = delivery
  const { state } = settlement
  const error = settlement.state === 'sent' ? undefined : settlement.error
  const fields = { correlation_id: correlationId, delivery: id, via, to, attempt, state, error }
  if (settlement.state === 'later' && settlement.uncounted) log.debug(fields, 'delivery put off')
  else log.info(fields, 'delivery settled')
}

async function trySend(delivery: Delivery, sending: Sending): Promise<Settlement> {
  const channel = sending.findChannel(delivery.via)
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
  { world, retry }: Sending,
): Settlement {
  return postponementOf({ waitUntil, reason, attempt, queuedAt, now: world.now(), chance: drawChance(world) }, retry)
}

/** `error`: what kept it from being sent. */
async function attemptDelivery(
  delivery: Delivery,
  channel: Channel,
  { world, retry }: Sending,
): Promise<{ readonly settlement: Settlement; readonly error?: unknown }> {
  let wire: Settlement['wire']
  try {
    const prepared = channel.prepare(delivery)
    wire = prepared.wire
    const { note } = await prepared.transmit()
    return { settlement: { state: 'sent', wire, note } }
  } catch (error) {
    world.log.warn({ correlation_id: delivery.correlationId, delivery: delivery.id, err: error }, 'delivery failed')
    const { attempt, queuedAt } = delivery
    const failed = { error, attempt, queuedAt, now: world.now(), chance: drawChance(world) }
    return { settlement: { ...settlementFor(failed, retry), wire }, error }
  }
}

function drawChance({ randomBytes }: Pick<World, 'randomBytes'>): number {
  return (randomBytes(1)[0] ?? 0) / 256
}
