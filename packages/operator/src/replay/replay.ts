// Replays a stored message through today's code, and reports what differs.
import { Rejection, Unavailable } from '@postern/message'
import type { MessageRecord, PublisherDeps, RunningAgent, StoredArrival } from '@postern/pipeline'
import type { NewAnswer, ReplayTurnDeps } from './answer-again.ts'
import { answerAgain, isCommand } from './answer-again.ts'
import { leaveOutCalls, makeNewCalls } from './calls-again.ts'
import { commitAnswer } from './commit.ts'
import type { ReadAgainResult, ReplayClock } from './read-again.ts'
import { hasReachedAgent, nameAgent, readAgain } from './read-again.ts'
import { AnswerNotRecorded } from './recorded-answers.ts'
import type { QueuedAnswer, ReplayReport } from './report.ts'

export interface ReplayOptions {
  readonly clock: ReplayClock
  /** True to call agents outside of this process, too. */
  readonly allowsCalls: boolean
  /** True to queue the new answer. */
  readonly commits: boolean
  /** True to send another answer if the recorded one has failed. */
  readonly answersAgain?: boolean | undefined
  /** The agent that answers in place of the configured one. */
  readonly replacementAgent?: RunningAgent | undefined
}

export interface ReplayDeps {
  readonly turn: ReplayTurnDeps
  readonly commit: PublisherDeps
  findAgent(name: string): RunningAgent | undefined
  /** Returns true if an agent of the configuration runs in this process. */
  runsHere(name: string): boolean
}

const noChanges = { proofs: [], normalized: [], response: [], wire: [] } as const

/** Replays one message. It stores and sends nothing unless `commits` is set. */
export async function replayMessage(
  record: MessageRecord,
  options: ReplayOptions,
  deps: ReplayDeps,
): Promise<ReplayReport> {
  const { number, message } = record
  const identity = {
    message: number,
    id: message.id,
    via: message.received_via,
    agent: nameAgent(record),
    received_at: message.received_at,
  }
  const storedArrival = await deps.turn.store.findArrival(number)
  const reason = findSkipReason(record, storedArrival)
  if (!storedArrival || reason !== undefined) return { ...identity, ...noChanges, outcome: 'skipped', reason }
  try {
    const readResult = await readAgain({ record, storedArrival, clock: options.clock }, deps.turn)
    const callResult = await callAgentAgain({ record, storedArrival, readResult }, options, deps)
    return {
      ...identity,
      ...describeChanges(readResult, callResult),
      ...(await commitNewAnswer({ record, readResult, callResult }, options, deps)),
    }
  } catch (error) {
    if (error instanceof AnswerNotRecorded)
      return { ...identity, ...noChanges, outcome: 'skipped', reason: error.message }
    if (!(error instanceof Rejection) && !(error instanceof Unavailable)) throw error
    const code = error instanceof Rejection ? error.code : 'unavailable'
    return { ...identity, ...noChanges, outcome: 'refused', reason: `${code}: ${error.message}` }
  }
}

/** Returns the reason why a message cannot be replayed; undefined if it can. */
function findSkipReason({ flags, state }: MessageRecord, storedArrival: StoredArrival | undefined): string | undefined {
  if (state === 'received' || state === 'working') return 'it is still being answered'
  if (flags.includes('deleted') || storedArrival?.raw === undefined) return 'its bytes were deleted'
  if (flags.includes('edited')) return 'its author edited it before the answer, so the agent never got these bytes'
  if (storedArrival.arrival === undefined)
    return 'it did not come from a peer, or came before the gateway recorded enough for a replay'
  return undefined
}

interface AgentCallResult {
  readonly newAnswer?: NewAnswer
  readonly not_called?: string
}

interface RereadMessage {
  readonly record: MessageRecord
  readonly storedArrival: StoredArrival
  readonly readResult: ReadAgainResult
}

async function callAgentAgain(
  { record, storedArrival, readResult: { intake } }: RereadMessage,
  { clock, allowsCalls, commits, replacementAgent }: ReplayOptions,
  deps: ReplayDeps,
): Promise<AgentCallResult> {
  const name = nameAgent(record)
  const runningAgent = replacementAgent ?? deps.findAgent(name)
  if (!intake || intake.disposition === 'keep') return { not_called: 'the message does not reach the agent' }
  if (!hasReachedAgent(record)) return { not_called: 'the message was kept from the agent' }
  if (record.merged_into !== undefined) return { not_called: `it was answered together with #${record.merged_into}` }
  if (!runningAgent) return { not_called: `the agent "${name}" no longer exists` }
  if (isCommand(record, runningAgent)) return { not_called: 'it is a command, which the gateway carries out itself' }
  if (!replacementAgent && !allowsCalls && !commits && !deps.runsHere(name)) {
    return { not_called: 'the agent is remote and would get the message again; --call calls it' }
  }
  const instant = clock === 'now' ? deps.turn.system.now() : Date.parse(record.message.received_at)
  const { callAgent } = deps.turn
  const calls = callAgent && (allowsCalls || commits) ? makeNewCalls(callAgent) : leaveOutCalls()
  const turn = { ...deps.turn, callAgent: calls.callAgent }
  const newAnswer = await answerAgain({ record, storedArrival, intake, runningAgent, at: instant }, turn)
  const skippedAgents = calls.listSkippedAgents()
  if (skippedAgents.length === 0) return { newAnswer }
  return { not_called: `it calls ${skippedAgents.join(', ')}, who would get the call again; --call makes such calls` }
}

function describeChanges({ proofs, message, intake }: ReadAgainResult, { newAnswer, not_called }: AgentCallResult) {
  const response = newAnswer?.changes ?? []
  const wire = newAnswer?.wire ?? []
  const isSame = [proofs, message, response, wire].every(changes => changes.length === 0)
  return {
    outcome: isSame ? ('same' as const) : ('changed' as const),
    ...(intake === undefined && { reason: 'it would not reach the agent today' }),
    ...{ proofs, normalized: message, response, wire },
    ...(not_called !== undefined && { not_called }),
    ...(response.length > 0 && newAnswer?.response && { answer: newAnswer.response.parts }),
  }
}

interface CommitInput {
  readonly record: MessageRecord
  readonly readResult: ReadAgainResult
  readonly callResult: AgentCallResult
}

/** Queues the new answer, unless it is the same as the recorded one. */
async function commitNewAnswer(
  { record, readResult: { intake }, callResult: { newAnswer } }: CommitInput,
  { commits, answersAgain }: ReplayOptions,
  deps: ReplayDeps,
): Promise<{ readonly queued?: QueuedAnswer }> {
  if (!commits) return {}
  if (!intake || !newAnswer?.answer || !newAnswer.response)
    return { queued: { kind: 'nothing', reason: 'there is no new answer' } }
  if (newAnswer.changes.length === 0) return { queued: { kind: 'nothing', reason: 'the answer is the same' } }
  const commitInput = { record, intake, answer: newAnswer.answer, response: newAnswer.response, answersAgain }
  return { queued: await commitAnswer(commitInput, deps.commit) }
}
