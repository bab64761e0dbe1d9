import { Rejection } from '../../format/errors.ts'
import type { AgentAccess } from '../../message/address/access.ts'
import { mayAccess } from '../../message/address/access.ts'
import type { LoopLimits } from '../../message/loop-limits.ts'
import { agentFlag, loopFlag } from '../../message/loop-limits.ts'
import type { ChannelName } from '../../message/message.ts'
import type { AdmissionRule } from '../../ports/intake-store.ts'
import type { Intake, TurnBudget } from '../../ports/records/intake.ts'
import type { RelationKind } from '../../ports/records/planned-delivery.ts'
import type { RelationEffect } from '../../ports/records/relation.ts'
import type { RequirementRecord } from '../../ports/records/requirement-record.ts'
import type { RequirementDecisions } from '../../ports/requirement-store.ts'
import type { Store } from '../../ports/store.ts'

type FindAccess = (agent: string) => AgentAccess | undefined

/**
 * The agents' own lists of who may speak to them. Where peers wait for an answer (`answersCalls`), everybody else is refused. Elsewhere their
 * message is kept with the flag `not_allowed`, and no agent gets a turn.
 */
export function createAccessRule(findAccess: FindAccess, answersCalls: (via: ChannelName) => boolean): AdmissionRule {
  return {
    name: 'access',
    admit(intake) {
      const access = findAccess(intake.agent)
      return !access || mayAccess(intake.message.sender, access) ? intake : turnAway(intake, answersCalls)
    },
  }
}

/** @throws Rejection `forbidden` */
function turnAway(intake: Intake, answersCalls: (via: ChannelName) => boolean): Intake {
  if (answersCalls(intake.message.received_via)) {
    throw new Rejection('forbidden', 'Cannot take message: its sender may not speak to this agent')
  }
  const { disposition, flags = [], effects = [], deliveries = [] } = intake
  const approaches = effects.some(isApproach)
  return {
    ...intake,
    disposition: 'keep',
    flags: approaches || disposition === 'answer' ? [...flags, 'not_allowed'] : flags,
    effects: effects.filter(effect => !isApproach(effect)),
    // What is told to those whom an agent answers is not told here.
    deliveries: approaches || disposition === 'answer' ? [] : deliveries,
  }
}

const approaching: ReadonlySet<RelationKind> = new Set(['follower', 'pending', 'correspondent'])

/** They do not become a follower or a correspondent, but may go, block, and take back what they said. */
function isApproach(effect: RelationEffect): boolean {
  return effect.kind === 'relate' && approaching.has(effect.relation)
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

type DecisionStore = Pick<Store, 'findRequirement' | 'findMessage' | 'resolveRequirement' | 'endOverdue'>

/** Decisions by the agents' own lists: once a person may no longer speak to an agent, no decision on their message counts. */
export function createRequirementDecisions(store: DecisionStore, findAccess: FindAccess): RequirementDecisions {
  async function isTurnedAway(requirement: RequirementRecord | undefined): Promise<boolean> {
    const access = requirement && findAccess(requirement.agent)
    const asked = access && (await store.findMessage(`#${requirement.message}`))
    return access !== undefined && asked !== undefined && !mayAccess(asked.message.sender, access)
  }

  return {
    async resolveRequirement(decision, correlationId) {
      const requirement = await store.findRequirement({ digest: decision.digest })
      if (await isTurnedAway(requirement)) return { outcome: 'refused', reason: 'expired', requirement }
      return store.resolveRequirement(decision, correlationId)
    },
    async endOverdue(id, correlationId) {
      const isToldNothing = await isTurnedAway(await store.findRequirement({ id }))
      return store.endOverdue(id, isToldNothing ? undefined : correlationId)
    },
  }
}
