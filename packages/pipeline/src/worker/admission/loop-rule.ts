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

/** The newest messages of the thread within the last `loopMemoryMs`, newest first. */
export interface LoopMemory {
  /** True for each message that came from an agent, false for the others. */
  readonly senders: readonly boolean[]
  readonly texts: readonly string[]
}

/** The numbers of messages that the loop guard needs. */
interface LoopMemorySize {
  readonly senders: number
  readonly texts: number
}

type LoopSign = 'no_person' | 'same_words'

/** Returns how many messages `findLoop` needs. */
export function measureLoopMemory({ isFromAgent, text }: LoopCandidate, limits: LoopLimits): LoopMemorySize {
  const minSimilar = isFromAgent ? limits.similarTurns : 2 * limits.similarTurns
  return {
    senders: isFromAgent ? limits.turnsWithoutPerson : 0,
    texts: mayCompare(text, { isFromAgent }) ? minSimilar : 0,
  }
}

/** Finds the sign of a loop, even a slow one: agents among themselves for too long, or the same text repeatedly. */
export function findLoop(incoming: LoopCandidate, memory: LoopMemory, limits: LoopLimits): LoopSign | undefined {
  const { isFromAgent, text } = incoming
  const needed = measureLoopMemory(incoming, limits)
  const senders = memory.senders.slice(0, needed.senders)
  if (isFromAgent && senders.length >= needed.senders && senders.every(Boolean)) return 'no_person'
  const earlierTexts = memory.texts.slice(0, needed.texts)
  if (needed.texts === 0 || earlierTexts.length < needed.texts || !canCompare(text, { isFromAgent })) return undefined
  return countSimilar(text, earlierTexts, { isFromAgent }) >= needed.texts ? 'same_words' : undefined
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
