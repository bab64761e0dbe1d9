import { hash } from 'node:crypto'
import type { NormalizedMessage } from '../../message/message.ts'
import type { Part } from '../../message/part.ts'
import type { TurnPerson } from '../../people/person-turn.ts'
import { findSpeaker, findTurnPerson, readPast } from '../../people/person-turn.ts'
import type { HistoryView } from '../../ports/agent/history-policy.ts'
import type { RunningAgent, TurnContext } from '../../ports/agent/turn-context.ts'
import type { Turn } from '../../ports/records/work.ts'
import type { EntryChange, GivenMessage } from '../../ports/trace/trace.ts'
import { momentOf, readMoment } from '../phase.ts'

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
