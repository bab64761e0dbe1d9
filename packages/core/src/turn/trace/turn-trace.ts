import { hash } from 'node:crypto'
import { TurnAborted } from '../../format/errors.ts'
import type { NormalizedMessage } from '../../message/message.ts'
import type { Part } from '../../message/part.ts'
import type { PartialResponse } from '../../message/response.ts'
import type { TokenUsage } from '../../message/token-usage.ts'
import type { TurnPerson, TurnSpeaker } from '../../people/person-turn.ts'
import { findSpeaker, findTurnPerson, readPast } from '../../people/person-turn.ts'
import type { HistoryMoment, HistoryPolicy, HistoryView } from '../../ports/agent/history-policy.ts'
import type { RunningAgent, TurnContext } from '../../ports/agent/turn-context.ts'
import type { Platform } from '../../ports/platform/platform.ts'
import type { Turn } from '../../ports/records/work.ts'
import { beginningOf } from '../../ports/records/work.ts'
import type { Store } from '../../ports/store.ts'
import type {
  AgentFault,
  EntryChange,
  GivenMessage,
  ToolRun,
  TurnAttempt,
  TurnOutcome,
} from '../../ports/trace/trace.ts'
import { describeAgentFault } from './agent-fault.ts'

const maxTools = 50
const maxToolName = 100

interface OpenTool {
  readonly name: string
  readonly since: number
  ms?: number
  ok: boolean
}

/** Notes how one attempt at a turn goes. */
export class TurnTrace {
  readonly #now: () => number
  readonly #attempt: number
  readonly #leasedAt: number
  readonly #tools = new Map<string, OpenTool>()
  #given: GivenMessage | undefined
  #calledAt: number | undefined
  #firstOutputAt: number | undefined
  #fault: AgentFault | undefined
  #aborted: TurnOutcome | undefined

  constructor({ attempt }: Pick<Turn, 'attempt'>, { now }: Pick<Platform, 'now'>) {
    this.#now = now
    this.#attempt = attempt
    this.#leasedAt = now()
  }

  /** The agent is called with this. */
  called(given: GivenMessage): void {
    this.#given = given
    this.#calledAt = this.#now()
  }

  /** A piece of its answer has come, or all of it. */
  heard({ parts = [], trace = [] }: PartialResponse): void {
    this.#firstOutputAt ??= this.#now()
    for (const part of [...parts, ...trace]) this.#noteTool(part)
  }

  /** The store has ended it, or another worker has it. */
  endLost(usage: readonly TokenUsage[] | undefined): TurnAttempt {
    const { error: _, ...attempt } = this.end(this.#aborted ?? 'lost', usage)
    return attempt
  }

  failed(error: unknown): void {
    if (error instanceof TurnAborted) this.#aborted = error.kind === 'shutting_down' ? 'shut_down' : error.kind
    this.#fault = describeAgentFault(error)
  }

  /** The attempt as it is kept. `nextAt`: when it is tried again. */
  end(outcome: TurnOutcome, usage: readonly TokenUsage[] | undefined, nextAt?: number): TurnAttempt {
    const tools = [...this.#tools.values()].map(
      ({ name, ms, ok }): ToolRun => ({ name, ...(ms !== undefined && { ms }), ok }),
    )
    return {
      attempt: this.#attempt,
      leased_at: this.#leasedAt,
      ...(this.#calledAt !== undefined && { called_at: this.#calledAt }),
      ...(this.#firstOutputAt !== undefined && { first_output_at: this.#firstOutputAt }),
      ended_at: this.#now(),
      outcome,
      ...(this.#given && { given: this.#given }),
      ...(tools.length > 0 && { tools }),
      ...(usage && usage.length > 0 && { usage }),
      ...(this.#fault && { error: this.#fault }),
      ...(nextAt !== undefined && { next_at: nextAt }),
    }
  }

  /** A call comes twice, when it begins and when it ends; of an agent that tells of it later only once. */
  #noteTool(part: Part): void {
    if (part.kind !== 'tool_call') return
    const known = this.#tools.get(part.id)
    const hasEnded = part.result !== undefined || part.error !== undefined
    const ok = part.error === undefined
    if (known) {
      known.ok = ok
      if (hasEnded) known.ms ??= this.#now() - known.since
    } else if (this.#tools.size < maxTools) {
      this.#tools.set(part.id, { name: part.name.slice(0, maxToolName).toWellFormed(), since: this.#now(), ok })
    }
  }
}

interface Past {
  readonly view: HistoryView
  /** Seqs of what the view was made of. */
  readonly entries: readonly number[]
}

/** What went before, as the agent is given it. `only`: of these entries alone. */
export function viewPast(
  turn: Turn,
  turnContext: TurnContext,
  { history }: Pick<RunningAgent, 'history'>,
  { known, only }: PastScope,
): Past | Promise<Past> {
  if (turn.isFirst && !known) return { view: history.view([], momentOf(turn, [])), entries: [] }
  return viewEntries(turn, turnContext, { history }, { known, only })
}

interface PastScope {
  readonly known: TurnPerson | undefined
  readonly only?: ReadonlySet<number> | undefined
}

async function viewEntries(
  turn: Turn,
  turnContext: TurnContext,
  { history }: Pick<RunningAgent, 'history'>,
  { known, only }: PastScope,
): Promise<Past> {
  const { store } = turnContext
  const speaker = await findSpeaker(turn, turnContext, known)
  const moment = await readMoment(turn, history, store, speaker)
  const read = await readPast(turn, history, store, speaker)
  const entries = only ? read.filter(({ seq }) => only.has(seq)) : read
  return { view: history.view(entries, moment), entries: entries.map(({ seq }) => seq) }
}

/** What a view of the past depends on beside what was said. */
async function readMoment(
  turn: Turn,
  { noteReach: limit = 0 }: HistoryPolicy,
  store: Pick<Store, 'readNotes'>,
  { speakers, isStranger }: TurnSpeaker,
): Promise<HistoryMoment> {
  const { thread } = turn
  const isTold = limit > 0 && !isStranger
  const notes = isTold ? await store.readNotes({ thread, before: beginningOf(turn), limit, speakers }) : []
  return momentOf(turn, notes)
}

function momentOf({ agent, content }: Turn, notes: HistoryMoment['notes']): HistoryMoment {
  const { phase_id, previous_phase_id } = content
  return { agent, phase_id, previous_phase_id, notes }
}

/**
 * What an agent is given, so that it can be built again. Its digest leaves out raw bytes, which are kept as they came, and what only the moment
 * of the call adds: signed addresses of files, and the state of a requirement.
 */
export function describeGiven(content: NormalizedMessage, parts: readonly Part[], past: Past): GivenMessage {
  return { history: past.entries, digest: digestGiven(toGiven(content, parts, past)) }
}

type Given = Omit<NormalizedMessage, 'raw'>

function toGiven(content: NormalizedMessage, parts: readonly Part[], { view }: Past): Given {
  const given: Record<string, unknown> = {}
  for (const name of Object.keys(content)) {
    // `raw` is read where it is needed, for it is rebuilt from bytes.
    if (name !== 'raw' && name !== 'policy_resolution') given[name] = content[name as keyof NormalizedMessage]
  }
  given.parts = parts
  given.history = view.turns
  return given as unknown as Given
}

/**
 * Its members in one order; within them the order is that of the store, which keeps JSON as it was written. Canonical JSON would cost ten times
 * as much for every message, and does not take whatever a message may hold.
 */
function digestGiven(given: Given): string {
  const sorted: Record<string, unknown> = {}
  for (const name of Object.keys(given).sort()) sorted[name] = given[name as keyof Given]
  return hash('sha256', JSON.stringify(sorted), 'base64url')
}

/** A message as an agent was given it, built again. */
export interface RebuiltGiven {
  readonly message: Given
  /** It is what the agent was given, to the last letter. */
  readonly isExact: boolean
  /** What was changed or taken back since. */
  readonly changes: readonly EntryChange[]
}

/**
 * Builds again what an agent was given for a turn, by what is stored now. Where that is no longer the same, `changes` tells why; without
 * changes the agent's configuration is another one, or the person has linked or unlinked an address.
 */
export async function rebuildGiven(
  turn: Turn,
  given: GivenMessage,
  { turnContext, running }: { readonly turnContext: TurnContext; readonly running: RunningAgent },
): Promise<RebuiltGiven> {
  const known = await findTurnPerson(turn, turnContext, running)
  const past = await viewPast(turn, turnContext, running, { known, only: new Set(given.history) })
  const message = toGiven(turn.content, turn.content.parts, past)
  const seqs = [...given.history, ...(turn.merged ?? []), turn.message]
  return {
    message,
    isExact: digestGiven(message) === given.digest,
    changes: await turnContext.store.listChanges(seqs),
  }
}
