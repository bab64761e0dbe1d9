import { Rejection, Unavailable } from '../format/errors.ts'
import type { LoopLimits } from '../message/loop-limits.ts'
import { agentFlag, loopFlag } from '../message/loop-limits.ts'
import type { ChannelName } from '../message/message.ts'
import type { Inbound, IntakeSteps } from '../ports/channel.ts'
import { createIntakeSteps } from '../ports/channel.ts'
import type { AdmissionDeps, AdmissionRule, IntakeStore } from '../ports/intake-store.ts'
import type { Platform } from '../ports/platform/platform.ts'
import { isoTime, randomHex } from '../ports/platform/platform.ts'
import type { Admitted, Intake, TurnBudget } from '../ports/records/intake.ts'
import type { Refusal, RefusalClaims, RefusalCode } from '../ports/records/records.ts'
import type { WithdrawalStore } from '../ports/store.ts'

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

/** What counts of the past, ms: who says something less often than a few times a day loops slowly enough. */
export const loopMemoryMs = 7 * 24 * 3_600_000

const hourMs = 3_600_000

/** A message as the guard looks at it. */
interface LoopTurn {
  readonly isFromAgent: boolean
  readonly text: string
}

/** What the store looks up for the guard, each newest first, of the last `loopMemoryMs`. */
export interface LoopMemory {
  /** For each of the thread's messages whether it came from an agent. */
  readSenders(most: number): readonly boolean[]
  /** The texts of the thread's messages. */
  readTexts(most: number): readonly string[]
}

type LoopSign = 'no_person' | 'same_words'

/**
 * Whether one more turn would go round in a circle, however slowly: agents among themselves for too long, or the same words again and
 * again. Only what has to be known is read.
 */
export function findLoop(incoming: LoopTurn, memory: LoopMemory, limits: LoopLimits): LoopSign | undefined {
  const { isFromAgent, text } = incoming
  const { turnsWithoutPerson: most, similarTurns } = limits
  if (isFromAgent) {
    const senders = memory.readSenders(most)
    if (senders.length >= most && senders.every(Boolean)) return 'no_person'
  }
  if (!canCompare(text, { isFromAgent })) return undefined
  const needed = isFromAgent ? similarTurns : 2 * similarTurns
  const isSame = countSimilar(text, memory.readTexts(needed), { isFromAgent }) >= needed
  return isSame ? 'same_words' : undefined
}

/** The limits on every message that takes a turn of a conversation. Tasks end by their chain: their caller waits. */
export function createLoopRule(limits: LoopLimits): AdmissionRule {
  return { name: 'loops', admit: intake => limitLoops(intake, limits) }
}

function limitLoops(intake: Intake, limits: LoopLimits): Intake {
  const { task, disposition, message, flags = [], budgets = [] } = intake
  if (task || disposition === 'keep' || (message.kind ?? 'message') !== 'message') return intake
  if (!flags.includes(agentFlag)) return { ...intake, loop: limits }
  const hourly = { withinMs: hourMs, flag: loopFlag } as const
  const ofThread: TurnBudget = { ...hourly, key: 'agents', turns: limits.agentTurns, isPerThread: true }
  const pair = `agents ${intake.agent} ${message.sender.address}`
  const ofPair: TurnBudget = { ...hourly, key: pair, turns: limits.pairTurns }
  return { ...intake, loop: limits, budgets: [...budgets, ofThread, ofPair] }
}

/** What is compared of a text, UTF-16 code units. */
const maxCompared = 4_000

/** From here on two texts say the same: the share of their triples of words. */
const threshold = 0.8

/** Of those who are no agents, shorter texts are never the same: people say "yes" and "status" again and again. */
const fewestWords = 8

/** Whether there are enough words to tell. */
function canCompare(text: string, { isFromAgent }: { readonly isFromAgent: boolean }): boolean {
  return readShingles(text).size >= (isFromAgent ? 1 : fewestWords)
}

/**
 * How many of `earlier` (newest first) say the same as `text`, in a row. What differs from one automatic message to the next is passed over:
 * quote marks, numbers, names, punctuation. An agent that says what was said and something more says the same. Pure.
 */
function countSimilar(
  text: string,
  earlier: readonly string[],
  { isFromAgent }: { readonly isFromAgent: boolean },
): number {
  const said = readShingles(text)
  const share = isFromAgent ? shareOfSmaller : shareOfBoth
  const differs = earlier.findIndex(other => share(said, readShingles(other)) < threshold)
  return differs < 0 ? earlier.length : differs
}

/** Triples of words; the words themselves where there are fewer than three. */
function readShingles(text: string): ReadonlySet<string> {
  const words = text
    .slice(0, maxCompared)
    .toLowerCase()
    .replace(/@[^\s@]+@[^\s@]+/g, ' ')
    .replace(/\p{N}+/gu, '0')
    .match(/[\p{L}\p{N}]+/gu)
  if (!words) return new Set()
  if (words.length < 3) return new Set([words.join(' ')])
  return new Set(words.slice(2).map((word, at) => `${words[at]} ${words[at + 1]} ${word}`))
}

function shareOfBoth(left: ReadonlySet<string>, right: ReadonlySet<string>): number {
  const common = countCommon(left, right)
  return common / (left.size + right.size - common || 1)
}

/** Echoes grow: each holds the one before. */
function shareOfSmaller(left: ReadonlySet<string>, right: ReadonlySet<string>): number {
  return countCommon(left, right) / (Math.min(left.size, right.size) || 1)
}

function countCommon(left: ReadonlySet<string>, right: ReadonlySet<string>): number {
  let count = 0
  for (const each of left) if (right.has(each)) count += 1
  return count
}
