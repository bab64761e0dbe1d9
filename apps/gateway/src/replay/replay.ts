import { agentKinds } from '@postern/agents'
import type { MessageRecord, PublisherDeps, RunningAgent, StoredArrival } from '@postern/core'
import { Rejection, Unavailable } from '@postern/core'
import type { AnsweredAgain, ReplayTurnDeps } from './answer-again.ts'
import { answerAgain, isCommand } from './answer-again.ts'
import { commitAnswer } from './commit.ts'
import { LookupMissing } from './lookups.ts'
import type { ReadAgain, ReplayClock } from './read-again.ts'
import { nameAgent, readAgain, wasGiven } from './read-again.ts'
import type { Queued, ReplayReport } from './report.ts'

export interface ReplayOptions {
  readonly clock: ReplayClock
  /** Agents that reach out of this process are called, too. */
  readonly callsOut: boolean
  /** Queues the new answer. */
  readonly commits: boolean
  /** Answers in place of the configured agent. */
  readonly candidate?: RunningAgent | undefined
}

export interface ReplayDeps {
  readonly turn: ReplayTurnDeps
  readonly commit: PublisherDeps
  findAgent(name: string): RunningAgent | undefined
  /** `use` of the agent's configuration. */
  findUse(name: string): string | undefined
}

const nothing = { proofs: [], normalized: [], response: [], wire: [] } as const

/** Runs one stored message through today's code. Nothing is stored or sent unless `commits` says so. */
export async function replayMessage(
  record: MessageRecord,
  options: ReplayOptions,
  deps: ReplayDeps,
): Promise<ReplayReport> {
  const { number, message } = record
  const about = {
    message: number,
    id: message.id,
    via: message.received_via,
    agent: nameAgent(record),
    received_at: message.received_at,
  }
  const arrived = await deps.turn.store.findArrival(number)
  const reason = findHindrance(record, arrived)
  if (!arrived || reason !== undefined) return { ...about, ...nothing, outcome: 'skipped', reason }
  try {
    const read = await readAgain(record, arrived, options.clock, deps.turn)
    const said = await callAgain({ record, arrived, read }, options, deps)
    return { ...about, ...report(read, said), ...(await commit({ record, read, said }, options, deps)) }
  } catch (error) {
    if (error instanceof LookupMissing) return { ...about, ...nothing, outcome: 'skipped', reason: error.message }
    if (!(error instanceof Rejection) && !(error instanceof Unavailable)) throw error
    const code = error instanceof Rejection ? error.code : 'unavailable'
    return { ...about, ...nothing, outcome: 'refused', reason: `${code}: ${error.message}` }
  }
}

/** Why a message cannot be run again. */
function findHindrance({ flags, state }: MessageRecord, arrived: StoredArrival | undefined): string | undefined {
  if (state === 'received' || state === 'working') return 'it is still being answered'
  if (flags.includes('deleted') || arrived?.raw === undefined) return 'its bytes were forgotten'
  if (flags.includes('edited')) return 'its author changed it before it was answered, and the first words are gone'
  if (arrived.arrival === undefined) return 'it did not come from a peer, or before replays were possible'
  return undefined
}

interface CalledAgain {
  readonly said?: AnsweredAgain
  readonly not_called?: string
}

interface ReadMessage {
  readonly record: MessageRecord
  readonly arrived: StoredArrival
  readonly read: ReadAgain
}

async function callAgain(
  { record, arrived, read: { intake } }: ReadMessage,
  { clock, callsOut, commits, candidate }: ReplayOptions,
  deps: ReplayDeps,
): Promise<CalledAgain> {
  const name = nameAgent(record)
  const running = candidate ?? deps.findAgent(name)
  if (!intake || intake.disposition === 'keep') return { not_called: 'the message does not reach the agent' }
  if (!wasGiven(record)) return { not_called: 'the message was kept from the agent' }
  if (record.merged_into !== undefined) return { not_called: `it was answered together with #${record.merged_into}` }
  if (!running) return { not_called: `there is no agent "${name}" any more` }
  if (isCommand(record, running)) return { not_called: 'it is a command, which the gateway does itself' }
  if (!candidate && !callsOut && !commits && !runsHere(deps.findUse(name))) {
    return { not_called: 'the agent is elsewhere, and would see the message once more; --call calls it' }
  }
  const at = clock === 'now' ? deps.turn.platform.now() : Date.parse(record.message.received_at)
  const { callAgent, ...quiet } = deps.turn
  const turn = callsOut || commits ? { ...quiet, callAgent } : quiet
  return { said: await answerAgain({ record, arrived, intake, running, at }, turn) }
}

function runsHere(use: string | undefined): boolean {
  return use !== undefined && agentKinds.find(({ uses }) => uses.test(use))?.runsHere === true
}

function report({ proofs, message, intake }: ReadAgain, { said, not_called }: CalledAgain) {
  const response = said?.changes ?? []
  const wire = said?.wire ?? []
  const isSame = [proofs, message, response, wire].every(changes => changes.length === 0)
  return {
    outcome: isSame ? ('same' as const) : ('changed' as const),
    ...(intake === undefined && { reason: 'it would not reach the agent today' }),
    ...{ proofs, normalized: message, response, wire },
    ...(not_called !== undefined && { not_called }),
    ...(response.length > 0 && said?.response && { answer: said.response.parts }),
  }
}

interface Committing {
  readonly record: MessageRecord
  readonly read: ReadAgain
  readonly said: CalledAgain
}

/** The same answer is not given twice. */
async function commit(
  { record, read: { intake }, said: { said } }: Committing,
  { commits }: ReplayOptions,
  deps: ReplayDeps,
): Promise<{ readonly queued?: Queued }> {
  if (!commits) return {}
  if (!intake || !said?.answer || !said.response)
    return { queued: { kind: 'nothing', reason: 'there is no new answer' } }
  if (said.changes.length === 0) return { queued: { kind: 'nothing', reason: 'the answer is the same' } }
  return { queued: await commitAnswer({ record, intake, answer: said.answer, response: said.response }, deps.commit) }
}
