// Gives an agent its message and reads its answer.

import type { PartialResponse, Sender } from '@postern/message'
import { isFilePart, markForeignFiles, markForeignTurns, policiesOf, toWellFormed } from '@postern/message'
import type { Turn } from '../../ports/records/work/turn.ts'
import type { TurnContext } from '../../ports/turn/turn-context.ts'
import { withState } from '../../requirements/requirements.ts'
import { collectAnswer } from '../answer/collect-answer.ts'
import { readEmptyAnswer } from '../answer/empty-answer.ts'
import { boundInlineMentions } from '../mentions/inline-mentions.ts'
import type { MentionFanoutDeps } from '../mentions/mention-fanout.ts'
import { joinLocalAgents } from '../mentions/mention-fanout.ts'
import { describeAgentInput } from '../trace/agent-input.ts'
import { toReadableError } from '../trace/readable-error.ts'
import type { CallDeps } from './call-deps.ts'
import { createContext } from './create-context.ts'
import { fetchReferenced } from './fetch-background.ts'
import { presentMessage } from './present-message.ts'
import type { ChunkReader } from './stream-chunks.ts'
import { createChunkReader } from './stream-chunks.ts'
import { startTurnClock } from './turn-clock.ts'
import { viewPast } from './view-past.ts'

/** Gives an agent its message and reads its answer to the end, or to the end of its time. */
export async function callAgent(turn: Turn, deps: CallDeps): Promise<PartialResponse | undefined> {
  const { turnContext, runningAgent, stopSignal, endSignal } = deps
  const clock = startTurnClock(runningAgent.deadlineMs, [stopSignal, endSignal])
  const { signal } = clock
  try {
    const fetching = fetchReferenced(turn, turnContext, signal)
    const { hasBackground, fetchedParts } = fetching
      ? await clock.waitWithinTime(fetching)
      : { hasBackground: false, fetchedParts: turn.content.parts }
    const principal = turn.content.called_by?.on_behalf
      ? await clock.waitWithinTime(findRepresentedSender(turn, turnContext))
      : undefined
    const pendingPast = viewPast(hasBackground ? { ...turn, isFirst: false } : turn, turnContext, runningAgent, deps)
    const past = pendingPast instanceof Promise ? await pendingPast : pendingPast
    const view = toWellFormed(past.view)
    const message = presentMessage(turn.content, {
      parts: fetchedParts.some(isFilePart)
        ? [...markForeignFiles(turnContext.presentParts(fetchedParts))]
        : [...fetchedParts],
      history: [...markForeignTurns(view.turns)],
      ...(principal && { on_behalf_of: principal }),
      ...(turn.content.policy_resolution && withState(turn.content, turnContext.requirements)),
    })
    const context = createContext(turn, deps, { signal, view, sender: message.sender })
    const onChunk = createChunkReader(turn, deps, signal)
    const run = async () => {
      try {
        const answer = await runningAgent.agent.handle(message, context)
        const boundAnswer = boundInlineMentions(answer, turn, turnContext)
        return await collectAnswer(boundAnswer instanceof Promise ? await boundAnswer : boundAnswer, onChunk)
      } catch (error) {
        throw toReadableError(error)
      }
    }
    signal.throwIfAborted()
    deps.trace.recordCall(describeAgentInput(turn.content, fetchedParts, past), runningAgent.deadlineMs)
    const rawAnswer = await clock.waitWithinTime(run())
    recordRawAnswer(rawAnswer, deps, onChunk)
    if (!rawAnswer && runningAgent.receives?.includes(message.kind ?? 'message') === false)
      deps.trace.recordNotReceived()
    const emptyAnswer = readEmptyAnswer(rawAnswer)
    if (emptyAnswer) deps.trace.recordEmptyAnswer()
    const answer = emptyAnswer ? emptyAnswer.remaining : rawAnswer
    // The other local agents that the answer mentions have their own time limits.
    clock.stop()
    if (!answer?.mentions?.length) return answer
    return await addLocalAgents(turn, answer, {
      turnContext,
      notes: deps.notes,
      trace: deps.trace,
      signals: [signal, stopSignal],
      onChunk,
    })
  } finally {
    clock.stop()
  }
}

/** Records an answer, with the tokens and the withheld text of an answer that was not streamed. */
function recordRawAnswer(
  rawAnswer: PartialResponse | undefined,
  { draft, trace }: Pick<CallDeps, 'draft' | 'trace'>,
  onChunk: ChunkReader,
): void {
  if (!onChunk.hasRead()) {
    draft.usage = rawAnswer?.usage
    trace.recordWithheld(rawAnswer?.withheld)
  }
  if (rawAnswer) trace.recordPiece(rawAnswer)
}

/** The maximum number of calls between a person and the called agent, so that no record can make the search endless. */
const maxCallers = 64

/**
 * Returns the sender on whose behalf another agent of this gateway calls: the one at the beginning, if that agent was itself called on behalf of
 * somebody. Returns undefined if a message on the way has been forgotten.
 */
async function findRepresentedSender({ content }: Turn, { store }: TurnContext): Promise<Sender | undefined> {
  let { called_by: call } = content
  for (let callers = 0; call && callers < maxCallers; callers += 1) {
    const [change] = await store.listChanges([call.message])
    const caller = change?.how === 'forgotten' ? undefined : (await store.readTurn(call.message))?.content
    if (!caller?.called_by?.on_behalf) return caller?.sender
    call = caller.called_by
  }
  return undefined
}

interface MentionFanoutCall extends MentionFanoutDeps {
  readonly onChunk: ChunkReader
}

/** Appends the answers of mentioned local agents to the agent's own parts. Readers of a streamed answer get them as well. */
async function addLocalAgents(
  turn: Turn,
  answer: PartialResponse,
  { onChunk, ...fanoutCall }: MentionFanoutCall,
): Promise<PartialResponse> {
  // No other agent may learn of a decision that only the sender may make.
  const isOpen = policiesOf(answer.parts ?? []).length === 0
  const mentionAnswers = isOpen ? await joinLocalAgents(turn, answer, fanoutCall) : []
  if (mentionAnswers.length === 0) return answer
  if (onChunk.hasRead()) await onChunk({ parts: [...mentionAnswers] })
  return { ...answer, parts: [...(answer.parts ?? []), ...mentionAnswers] }
}
