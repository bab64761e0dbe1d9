import type { AgentChunk, Log } from '@postern/core'
import { Unavailable } from '@postern/core'
import type { Round } from './round.ts'

interface EndingDeps {
  /** Whether an empty answer is intended. */
  readonly mayStaySilent: boolean
  readonly hasSpoken: boolean
  readonly log: Log
}

type Ending = (round: Round, deps: EndingDeps) => readonly AgentChunk[]

/** Why a model stops, by `finish_reason`. Other reasons are an ordinary end. */
const endings: Readonly<Record<string, Ending>> = {
  stop: endWell,
  length: endCutOff,
  content_filter: refuse,
  refusal: refuse,
  abort: breakOff,
  error: breakOff,
}

/** What to add when a model calls no tool: nothing, a refusal, a mark. @throws Error, Unavailable */
export function endAnswer(round: Round, deps: EndingDeps): readonly AgentChunk[] {
  if (round.refusal.trim()) return refuse(round)
  return (endings[round.finish] ?? endWell)(round, deps)
}

function endWell({ text }: Round, { mayStaySilent, hasSpoken, log }: EndingDeps): readonly AgentChunk[] {
  if (text.trim() || hasSpoken) return []
  if (!mayStaySilent) throw new Error('The model answered with nothing')
  log.info({}, 'the model chose to say nothing')
  return []
}

function endCutOff({ text }: Round, { log }: EndingDeps): readonly AgentChunk[] {
  if (!text.trim()) throw new Error('The model used up its longest answer before it said anything; raise "max_tokens"')
  log.warn({}, 'the answer of the model was cut off; raise "max_tokens"')
  return [' […]']
}

/** Most characters of the model's own explanation. */
const maxReason = 2_000

function refuse({ refusal }: Round): readonly AgentChunk[] {
  const message = refusal.trim().slice(0, maxReason) || 'This will not be answered.'
  return [{ status: 'rejected', parts: [{ kind: 'policy', policy: { kind: 'forbidden', message } }] }]
}

function breakOff(): never {
  throw new Unavailable('The model broke off its answer')
}
