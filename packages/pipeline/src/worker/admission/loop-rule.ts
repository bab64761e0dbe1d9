// Stops agents and machines that answer each other without end.

import type { LoopLimits } from '@postern/message'
import { agentFlag, loopFlag } from '@postern/message'
import type { AdmissionRule } from '../../ports/admission-rule.ts'
import type { Intake, TurnBudget } from '../../ports/records/intake.ts'
import { canCompare, countSimilar, mayCompare } from './similar-words.ts'

/** The time for which messages count, in ms. A loop that is slower than a few messages a day is harmless. */
export const loopMemoryMs = 7 * 24 * 3_600_000

const hourMs = 3_600_000

/** The facts about a message that the loop guard needs. */
interface LoopCandidate {
  readonly isFromAgent: boolean
  readonly text: string
}

/** The queries of the loop guard. Each returns values of the last `loopMemoryMs`, newest first. */
export interface LoopMemory {
  /** Returns true for each of the thread's messages that came from an agent, false for the others. */
  readSenders(limit: number): readonly boolean[]
  /** Returns the texts of the thread's messages. */
  readTexts(limit: number): readonly string[]
}

type LoopSign = 'no_person' | 'same_words'

/** Finds the sign of a loop, even a slow one: agents among themselves for too long, or the same text repeatedly. It reads no more messages than it needs. */
export function findLoop(incoming: LoopCandidate, memory: LoopMemory, limits: LoopLimits): LoopSign | undefined {
  const { isFromAgent, text } = incoming
  const { turnsWithoutPerson: maxTurns, similarTurns } = limits
  if (isFromAgent) {
    const senders = memory.readSenders(maxTurns)
    if (senders.length >= maxTurns && senders.every(Boolean)) return 'no_person'
  }
  if (!mayCompare(text, { isFromAgent })) return undefined
  const minSimilar = isFromAgent ? similarTurns : 2 * similarTurns
  const earlierTexts = memory.readTexts(minSimilar)
  if (earlierTexts.length < minSimilar || !canCompare(text, { isFromAgent })) return undefined
  return countSimilar(text, earlierTexts, { isFromAgent }) >= minSimilar ? 'same_words' : undefined
}

/** Creates the rule that sets the loop limits of every message with a turn, except tasks, whose callers wait and whose chain is limited. */
export function createLoopRule(limits: LoopLimits): AdmissionRule {
  return { name: 'loops', admit: intake => limitLoops(intake, limits) }
}

function limitLoops(intake: Intake, limits: LoopLimits): Intake {
  const { task, disposition, message, flags = [], budgets = [] } = intake
  if (task || disposition === 'keep' || (message.kind ?? 'message') !== 'message') return intake
  if (!flags.includes(agentFlag)) return { ...intake, loop: limits }
  const hourlyLimit = { withinMs: hourMs, flag: loopFlag } as const
  const threadBudget: TurnBudget = { ...hourlyLimit, key: 'agents', turns: limits.agentTurns, isPerThread: true }
  const pairKey = `agents ${intake.agent} ${message.sender.address}`
  const pairBudget: TurnBudget = { ...hourlyLimit, key: pairKey, turns: limits.pairTurns }
  return { ...intake, loop: limits, budgets: [...budgets, threadBudget, pairBudget] }
}
