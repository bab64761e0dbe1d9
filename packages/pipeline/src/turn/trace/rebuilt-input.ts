// Rebuilds the input of an earlier turn, and lists the changes since then.
import type { EntryChange, GivenMessage } from '@postern/message'
import { findTurnPerson } from '../../people/person-turn.ts'
import type { Turn } from '../../ports/records/work/turn.ts'
import type { RunningAgent } from '../../ports/turn/running-agent.ts'
import type { TurnContext } from '../../ports/turn/turn-context.ts'
import { viewPast } from '../call/view-past.ts'
import type { AgentInput } from './agent-input.ts'
import { digestAgentInput, toAgentInput } from './agent-input.ts'

/** A message as an agent once got it, rebuilt from the store. */
interface RebuiltInput {
  readonly message: AgentInput
  /** True if it is exactly the message that the agent got. */
  readonly isExact: boolean
  /** The edits and withdrawals since then. */
  readonly changes: readonly EntryChange[]
}

/**
 * Rebuilds the message that an agent got for a turn from the data that is stored now. `changes` explains a difference. If there are none, the
 * agent's configuration has changed, or the person has linked or unlinked an address.
 */
export async function rebuildAgentInput(
  turn: Turn,
  recordedInput: GivenMessage,
  { turnContext, running: runningAgent }: { readonly turnContext: TurnContext; readonly running: RunningAgent },
): Promise<RebuiltInput> {
  const turnPerson = await findTurnPerson(turn, turnContext, runningAgent)
  const past = await viewPast(turn, turnContext, runningAgent, {
    turnPerson,
    includedSeqs: new Set(recordedInput.history),
  })
  const message = toAgentInput(turn.content, turn.content.parts, past)
  const seqs = [...recordedInput.history, ...(turn.merged ?? []), turn.message]
  return {
    message,
    isExact: digestAgentInput(message) === recordedInput.digest,
    changes: await turnContext.store.listChanges(seqs),
  }
}
