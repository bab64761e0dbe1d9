import { Rejection, Unavailable, Undeliverable } from '../format/errors.ts'
import type { Json } from '../format/json.ts'
import { findDestinationHost } from '../message/address/address.ts'
import type { ChannelName } from '../message/message.ts'
import type { RetryPolicy } from '../ports/agent/turn-context.ts'
import type { AnsweredTurn, Channel, Inbound, Outbound } from '../ports/channel.ts'
import { findChannel } from '../ports/channel.ts'
import type { AdmissionDeps, AdmissionRule, IntakeStore } from '../ports/intake-store.ts'
import type { Platform } from '../ports/platform/platform.ts'
import { isoTime, randomHex } from '../ports/platform/platform.ts'
import type { Admitted, Intake } from '../ports/records/intake.ts'
import type { Refusal, RefusalClaims, RefusalCode } from '../ports/records/records.ts'
import type { Delivery, Settlement } from '../ports/records/work.ts'
import type { WithdrawalStore } from '../ports/store.ts'
import type { IntakeSteps } from '../ports/trace/intake-steps.ts'
import { createIntakeSteps } from '../ports/trace/intake-steps.ts'
import type { DeliveryReply } from '../ports/trace/trace.ts'
import type { ResultStore } from '../ports/work-store.ts'
import { hasRequirements, hideRequirements } from '../requirements/requirements.ts'
import { postponementOf, settlementFor } from '../turn/retry.ts'
import type { Breaker, Tried } from './breaker.ts'
import { readHealth } from './breaker.ts'

export interface Reception extends RefusalDeps {
  readonly admission: AdmissionDeps
  readonly store: Pick<IntakeStore, 'refuse'> & Pick<WithdrawalStore, 'withdraw'>
  /** Begun when the first bytes came; default: now. */
  readonly steps?: IntakeSteps | undefined
}

/**
 * verify → normalize → admission rules → admit. When it resolves, everything is durable and the peer may be told "accepted".
 * An empty list: well-formed, nothing to do.
 * @throws Rejection, Unavailable
 */
export async function receive<Raw, Proven>(
  inbound: Inbound<Raw, Proven>,
  raw: Raw,
  reception: Reception,
): Promise<readonly Admitted[]> {
  const { admission, store, platform, from, steps = createIntakeSteps(platform) } = reception
  try {
    const proven = await inbound.verify(raw, steps)
    const intakes = applyRules(admission.rules, inbound.normalize(proven), from)
    const correlationId = randomHex(platform, 8)
    const record = { trace: steps.trace(), proofKeys: steps.keys() }
    const admit = (intake: Intake) => admission.store.admit({ ...intake, ...withSentAt(record, intake) }, correlationId)
    const [first, ...others] = intakes
    const admitted = first ? await admitAll(first, others, admit) : []
    for (const { outcome, message } of admitted) {
      platform.log.info({ correlation_id: correlationId, via: inbound.name, message, outcome }, 'message admitted')
    }
    // Withdrawals come last, so that a peer that repeats its request still finds what it withdraws.
    const withdrawals = inbound.withdrawals?.(proven) ?? []
    if (withdrawals.length > 0) await store.withdraw(inbound.name, withdrawals)
    return admitted
  } catch (error) {
    recordRefusal(error, inbound.name, { ...reception, ...steps.claims() })
    throw error
  }
}

/** In one transaction, if the store can. */
async function admitAll(
  first: Intake,
  others: readonly Intake[],
  admit: (intake: Intake) => Promise<Admitted>,
): Promise<readonly Admitted[]> {
  return others.length > 0 ? Promise.all([first, ...others].map(admit)) : [await admit(first)]
}

/** Its record, with what the message says of its time. */
function withSentAt(record: Required<Pick<Intake, 'trace' | 'proofKeys'>>, { sentAt }: Intake) {
  const isKnown = sentAt !== undefined && Number.isSafeInteger(sentAt)
  return isKnown && record.trace ? { ...record, trace: { ...record.trace, sent_at: sentAt } } : record
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

/** Where something was refused, and what it says of itself. */
export interface RefusalPlace extends RefusalClaims, Pick<Refusal, 'endpoint'> {
  /** The peer's network address, for the operator. */
  readonly from: string
  /** What it is answered with; absent where that is not a number. */
  readonly statusOf?: ((error: unknown) => number | undefined) | undefined
  /** The request that it came with: of one request one refusal is kept. */
  readonly request?: object | undefined
}

/** What remembers a refusal. */
interface RefusalDeps extends RefusalPlace {
  readonly store: Pick<IntakeStore, 'refuse'>
  readonly platform: Pick<Platform, 'now' | 'randomBytes' | 'log'>
}

const recorded = new WeakSet<object>()

/** Whether a refusal is kept that this request was answered with. */
export function hasRefusal(request: object): boolean {
  return recorded.has(request)
}

/** A refusal or a failure is remembered for the operator, wherever on the way in it happens. */
export function recordRefusal(error: unknown, via: ChannelName, deps: RefusalDeps): void {
  const { store, platform, from, statusOf, request } = deps
  if (request) recorded.add(request)
  const { code, reason } = describeRefusal(error)
  const { endpoint, claimed_sender, agent, peer_id } = deps
  const place = { endpoint, status: statusOf?.(error), claimed_sender, agent, peer_id }
  store.refuse({ at: isoTime(platform.now()), via, from, code, reason, ...place })
  // Where a refusal was made tells nothing that its sentence does not; what was behind it may.
  if (error instanceof Rejection) {
    const behind = error.cause === undefined ? {} : { err: error.cause }
    platform.log.info({ via, from, code, reason, ...behind }, 'message refused')
  } else platform.log.warn({ via, from, code, reason, err: error }, 'message not taken')
}

function describeRefusal(error: unknown): { readonly code: RefusalCode; readonly reason: string } {
  if (error instanceof Rejection) return { code: error.code, reason: error.message }
  if (error instanceof Unavailable) return { code: 'unavailable', reason: error.message }
  return { code: 'internal', reason: 'a fault of the gateway: its log has it' }
}

/** Closes over a protocol's wire type, so that differing protocols fit one list. */
export function createSender<Wire>(outbound: Outbound<Wire>): Pick<Channel, 'descriptor' | 'address' | 'prepare'> {
  return {
    descriptor: outbound.descriptor,
    address: answered => outbound.address(answered),
    prepare(delivery) {
      const wire = outbound.render(delivery)
      const described = outbound.describe(wire)
      const shown = hasRequirements(delivery.response?.parts ?? []) ? hideRequirements(described) : described
      return { wire: shown, transmit: () => outbound.deliver(wire, delivery) }
    },
  }
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
