// Sends a delivery: renders it, transmits it and settles it.

import type { DeliveryReply, System } from '@postern/message'
import { findDeliveryGroup, Unavailable, Undeliverable } from '@postern/message'
import type { Channel } from '../ports/channel/channel.ts'
import { findChannel } from '../ports/channel/channel.ts'
import type { Delivery } from '../ports/records/work/delivery.ts'
import type { Settlement } from '../ports/records/work/settlement.ts'
import type { ResultStore } from '../ports/store/work-store.ts'
import type { RetryPolicy } from '../ports/turn/retry-policy.ts'
import { settleFailedAttempt, settlePostponed } from '../retry/retry.ts'
import type { Breaker } from './hosts/breaker.ts'
import { readHealth } from './hosts/breaker.ts'
import type { AttemptHealth, HostReason } from './hosts/host-health.ts'

export interface SendDeps {
  readonly results: Pick<ResultStore, 'settle'>
  readonly system: Pick<System, 'now' | 'randomBytes' | 'log'>
  readonly retry: RetryPolicy
  /** Leaves failing hosts alone. If it is absent, every delivery is attempted when it is due. */
  readonly breaker?: Breaker | undefined
  readonly channels: readonly Channel[]
  /** Returns true if the configuration has this agent. Default: true for every agent. */
  hasAgent?(name: string): boolean
}

/** Renders and delivers, then settles the delivery: as sent, as later with a time, or as dead with a reason. */
export async function sendDelivery(delivery: Delivery, deps: SendDeps): Promise<Settlement> {
  const settlement = await trySend(delivery, deps)
  await deps.results.settle(delivery, settlement)
  logSettlement(delivery, settlement, deps.system)
  return settlement
}

function logSettlement(delivery: Delivery, settlement: Settlement, { log }: SendDeps['system']): void {
  const { id, via, to, attempt, correlationId } = delivery
  const { state } = settlement
  const error = settlement.state === 'sent' ? undefined : settlement.error
  const fields = { correlation_id: correlationId, delivery: id, via, to, attempt, state, error }
  if (settlement.state === 'later' && settlement.isUncounted) log.debug(fields, 'delivery postponed')
  else log.info(fields, 'delivery settled')
}

async function trySend(delivery: Delivery, deps: SendDeps): Promise<Settlement> {
  const channel = findChannel(deps.channels, delivery.via)
  if (!channel) return { state: 'dead', reason: 'channel_closed', error: `the channel "${delivery.via}" is not open` }
  if (deps.hasAgent?.(delivery.agent) === false && !channel.actions?.isRemovalNotice?.(delivery.target))
    return {
      state: 'dead',
      reason: 'sender_removed',
      error: `its agent "${delivery.agent}" is not configured any more`,
    }
  const host = findDeliveryGroup(delivery.to)
  const admission = host === undefined ? undefined : await deps.breaker?.admit(host)
  if (admission?.waitUntil !== undefined) return postpone(delivery, admission, deps)
  let attemptHealth: AttemptHealth = { health: 'unknown' }
  try {
    const { settlement, error } = await attemptDelivery(delivery, channel, deps)
    attemptHealth = readHealth(error)
    return settlement
  } finally {
    admission?.report(attemptHealth)
  }
}

function postpone(
  { attempt, firstAttemptAt }: Delivery,
  { waitUntil, reason, sentence }: HostReason & { readonly waitUntil: number },
  { system, retry }: SendDeps,
): Settlement {
  return settlePostponed(
    {
      waitUntil,
      reason,
      description: sentence,
      attempt,
      firstAttemptAt,
      now: system.now(),
      random: drawRandom(system),
    },
    retry,
  )
}

/** Attempts a delivery once. `error` is the reason why it was not sent. */
async function attemptDelivery(
  delivery: Delivery,
  channel: Channel,
  { system, retry }: SendDeps,
): Promise<{ readonly settlement: Settlement; readonly error?: unknown }> {
  let wire: Settlement['wire']
  const at = system.now()
  const startedMs = performance.now()
  const withTiming = (reply: DeliveryReply) => ({ ...reply, at, ms: Math.round(performance.now() - startedMs) })
  try {
    const preparedDelivery = channel.prepare(delivery)
    wire = preparedDelivery.wire
    const { note, ...reply } = await preparedDelivery.transmit()
    return { settlement: { state: 'sent', wire, note, attempt: withTiming(reply) } }
  } catch (error) {
    system.log.warn({ correlation_id: delivery.correlationId, delivery: delivery.id, err: error }, 'delivery failed')
    const { attempt, firstAttemptAt } = delivery
    const failedAttempt = { error, attempt, firstAttemptAt, now: system.now(), random: drawRandom(system) }
    return {
      settlement: { ...settleFailedAttempt(failedAttempt, retry), wire, attempt: withTiming(readReply(error)) },
      error,
    }
  }
}

/** Reads the reply of the remote server, if there was one. */
function readReply(error: unknown): DeliveryReply {
  if (!(error instanceof Unavailable || error instanceof Undeliverable)) return {}
  const { status, replyLine } = error
  return { ...(status !== undefined && { status }), ...(replyLine !== undefined && { reply_line: replyLine }) }
}

function drawRandom({ randomBytes }: Pick<System, 'randomBytes'>): number {
  return (randomBytes(1)[0] ?? 0) / 256
}
