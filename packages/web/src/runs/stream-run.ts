import type { Interrupt } from '@ag-ui/core'
import type { NormalizedResponse } from '@postern/core'
import { plainTextOf, presentResponse } from '@postern/core'
import type { WebDeps } from '../deps.ts'
import { createEarlierWriter } from '../events/earlier-version.ts'
import type { RunWriter } from '../events/run-events.ts'
import { createRunWriter } from '../events/run-events.ts'
import type { EventSink } from '../events/sse.ts'
import { streamEvents } from '../events/sse.ts'
import { parseThreadName } from '../history/own-threads.ts'
import { senderOf } from '../identity/speaker.ts'
import type { AskedRun } from '../input/asked-run.ts'
import { isEarlierClient } from '../input/client-version.ts'
import { describeRefusal } from '../parts/refusal.ts'
import { withDecisionLinks } from '../requirements/decision-links.ts'
import { listInterrupts } from '../requirements/interrupts.ts'
import type { TurnEnding, TurnWatcher } from './follow-turn.ts'
import { followTurn } from './follow-turn.ts'
import type { StartedRun } from './start-run.ts'

/** Streams a run while it goes on. `leave` is called when the client has left or has read everything. */
export function streamRun(
  asked: AskedRun,
  started: StartedRun,
  { config, gateway }: WebDeps,
  leave: () => void,
): ReadableStream<Uint8Array> {
  const { threadId, runId, parentRunId, tools } = asked.input
  const { platform, store, agents, fileAddress, showRequirement } = gateway
  const clientTools = new Set(tools.map(({ name }) => name))
  const isEarlier = isEarlierClient(asked.input)
  return streamEvents(sink => {
    const showsTrace = config.trace
    // As in the history: notes of conversations elsewhere may concern other people.
    const showsNotes = showsTrace && !parseThreadName(threadId, { gateway })
    const told = { agent: asked.agent, showsTrace, showsNotes, fileAddress }
    const place = {
      threadId,
      runId,
      parentRunId,
      clientTools,
      now: platform.now,
      askedAt: started.watched?.askedAt,
      ...told,
    }
    const writer = createRunWriter(place, isEarlier ? createEarlierWriter(sink.send) : sink.send)
    // Only this person reads the stream, so it shows the addresses where they decide.
    const sender = senderOf(asked.owner, `@${asked.agent}@${agents.domain}`, platform.now())
    const present: Present = response => {
      const presented = presentResponse(response, { sender }, showRequirement)
      return isEarlier ? withDecisionLinks(presented) : presented
    }
    writer.start()
    for (const snapshot of started.snapshots) writer.snapshot(snapshot)
    if (started.state) writer.behind({ chat_state: started.state })
    for (const warning of started.warnings) writer.warn(warning)
    // Before the agent begins, because a late follower gets the answer only at its end.
    const stop =
      started.watched &&
      followTurn(
        started.watched,
        createWatcher(writer, { sink, present, listOpen: started.listOpen, done: sink.close }),
        {
          store,
          platform,
        },
      )
    if (!stop)
      void endWithoutTurn(asked, started, writer)
        .catch(() => failToFollow(writer))
        .then(sink.close)
    return () => {
      stop?.()
      leave()
    }
  })
}

/** Ends a run that says nothing new. A decision that did not count is no success. */
async function endWithoutTurn(
  { input }: AskedRun,
  { warnings, listOpen, isAsking }: StartedRun,
  writer: RunWriter,
): Promise<void> {
  const wasAsked = (input.resume?.length ?? 0) > 0
  if (wasAsked && !isAsking) writer.fail(warnings.at(-1) ?? 'Nothing was decided', 'not_decided')
  else finish(writer, await listOpen())
}

/** An open requirement of an earlier run keeps this run from success. */
function finish(writer: RunWriter, interrupts: readonly Interrupt[]): void {
  writer.finish(interrupts.length > 0 ? { kind: 'interrupt', interrupts } : { kind: 'success' })
}

function failToFollow(writer: RunWriter): void {
  writer.fail('The run cannot be followed any more. Its answer will be in the history.', 'unavailable')
}

type Present = (response: NormalizedResponse) => NormalizedResponse

interface Watching {
  readonly sink: Pick<EventSink, 'beat' | 'isFull'>
  readonly present: Present
  readonly listOpen: StartedRun['listOpen']
  done(): void
}

function createWatcher(writer: RunWriter, { sink, present, listOpen, done }: Watching): TurnWatcher {
  let isBehind = false
  // The complete answer brings what was left out, in its order.
  const unlessBehind =
    <Words extends readonly unknown[]>(tell: (...words: Words) => void) =>
    (...words: Words): void => {
      isBehind ||= sink.isFull()
      if (!isBehind) tell(...words)
    }
  return {
    piece: unlessBehind(writer.piece),
    behind: unlessBehind(writer.behind),
    interim: unlessBehind(writer.interim),
    note: unlessBehind(writer.note),
    beat: sink.beat,
    end(ending) {
      const presented = { ...ending, response: ending.response && present(ending.response) }
      void tellEnding(presented, writer, listOpen)
        .catch(() => failToFollow(writer))
        .then(done)
    },
    fail() {
      failToFollow(writer)
      done()
    },
  }
}

async function tellEnding(
  { response, isCanceled }: TurnEnding,
  writer: RunWriter,
  listOpen: StartedRun['listOpen'],
): Promise<void> {
  if (isCanceled) return writer.finish({ kind: 'cancelled' })
  if (response?.status === 'failed') return writer.fail(wordsOf(response), 'agent_failed', { response })
  if (response) writer.complete(response)
  if (response?.status === 'rejected') {
    const { message, code, details } = describeRefusal(response)
    return writer.fail(message, code, { response, details })
  }
  const interrupts = response ? listInterrupts(response) : []
  const known = new Set(interrupts.map(({ id }) => id))
  finish(writer, [...interrupts, ...(await listOpen()).filter(({ id }) => !known.has(id))])
}

function wordsOf({ parts }: NormalizedResponse): string {
  return plainTextOf(parts) || 'The agent failed'
}
