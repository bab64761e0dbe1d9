import type { LoopLimits } from '../../message/loop-limits.ts'
import { agentFlag, loopFlag } from '../../message/loop-limits.ts'
import type { AdmissionRule } from '../../ports/intake-store.ts'
import type { Intake, TurnBudget } from '../../ports/records/intake.ts'
import { canCompare, countSimilar } from './loop-words.ts'

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
