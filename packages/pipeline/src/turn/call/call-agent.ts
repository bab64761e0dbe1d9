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
import { describeGiven } from '../trace/given-message.ts'
import { toReadableError } from '../trace/readable-error.ts'
import type { CallDeps } from './call-deps.ts'
import { createContext } from './create-context.ts'
import { bringsMore, fetchMore } from './fetch-background.ts'
import { presentMessage } from './present-message.ts'
import type { ChunkReader } from './stream-chunks.ts'
import { createChunkReader } from './stream-chunks.ts'
import { startTurnClock } from './turn-clock.ts'
import { viewPast } from './view-past.ts'

/** Gives an agent its message and reads its answer to the end, or to the end of its time. */
export async function callAgent(turn: Turn, deps: CallDeps): Promise<PartialResponse | undefined> {
  const { turnContext, running, stop, ended } = deps
  const clock = startTurnClock(running.deadlineMs, [stop, ended])
  const { signal } = clock
  try {
    const { hasBackground, kept } = bringsMore(turn, turnContext)
      ? await clock.limit(fetchMore(turn, turnContext, signal))
      : { hasBackground: false, kept: turn.content.parts }
    const principal = turn.content.called_by?.on_behalf ? await clock.limit(findCaller(turn, turnContext)) : undefined
    const seen = viewPast(hasBackground ? { ...turn, isFirst: false } : turn, turnContext, running, deps)
    const past = seen instanceof Promise ? await seen : seen
    const view = toWellFormed(past.view)
    const message = presentMessage(turn.content, {
      parts: kept.some(isFilePart) ? [...markForeignFiles(turnContext.presentParts(kept))] : [...kept],
      history: [...markForeignTurns(view.turns)],
      ...(principal && { on_behalf_of: principal }),
      ...(turn.content.policy_resolution && withState(turn.content, turnContext.requirements)),
    })
    const context = createContext(turn, deps, { signal, view, sender: message.sender })
    const onChunk = createChunkReader(turn, deps, signal)
    const run = async () => {
      try {
        const answer = await running.agent.handle(message, context)
        return await collectAnswer(await boundInlineMentions(answer, turn, turnContext), onChunk)
      } catch (error) {
        throw toReadableError(error)
      }
    }
    signal.throwIfAborted()
    deps.trace.called(describeGiven(turn.content, kept, past), running.deadlineMs)
    const heard = await clock.limit(run())
    if (!onChunk.hasRead()) {
      deps.draft.usage = heard?.usage
      deps.trace.withheld(heard?.withheld)
    }
    if (heard) deps.trace.heard(heard)
    if (!heard && running.receives && !running.receives.includes(message.kind ?? 'message')) deps.trace.notReceived()
    const empty = readEmptyAnswer(heard)
    if (empty) deps.trace.saidNothing()
    const said = empty ? empty.left : heard
    // The other local agents that the answer mentions have their own time limits.
    clock.stop()
    return await addLocalAgents(turn, said, {
      ...{ turnContext, notes: deps.notes, trace: deps.trace },
      ...{ signals: [signal, stop], onChunk },
    })
  } finally {
    clock.stop()
  }
}

/** Returns the sender on whose behalf another agent of this gateway calls; undefined if their message has been forgotten. */
async function findCaller({ content }: Turn, { store }: TurnContext): Promise<Sender | undefined> {
  const number = content.called_by?.message ?? 0
  const [change] = await store.listChanges([number])
  return change?.how === 'forgotten' ? undefined : (await store.readTurn(number))?.content.sender
}

interface MentionFanoutCall extends MentionFanoutDeps {
  readonly onChunk: ChunkReader
}

/** Appends the answers of mentioned local agents to the agent's own parts. Readers of a streamed answer get them as well. */
async function addLocalAgents(
  turn: Turn,
  said: PartialResponse | undefined,
  { onChunk, ...fanoutCall }: MentionFanoutCall,
): Promise<PartialResponse | undefined> {
  if (!said?.mentions?.length) return said
  // No other agent may learn of a decision that only the sender may make.
  const isOpen = policiesOf(said.parts ?? []).length === 0
  const joined = isOpen ? await joinLocalAgents(turn, said, fanoutCall) : []
  if (joined.length === 0) return said
  if (onChunk.hasRead()) await onChunk({ parts: [...joined] })
  return { ...said, parts: [...(said.parts ?? []), ...joined] }
}
