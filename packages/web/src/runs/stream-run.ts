// Streams a run as events, from its start to its end.
import type { Event } from '@ag-ui/core'
import { EventType } from '@ag-ui/core'
import { presentResponse } from '@postern/message'
import type { WebDeps } from '../endpoint.ts'
import { createEarlierWriter, isEarlierClient } from '../events/earlier-clients.ts'
import type { RunWriter } from '../events/run-events.ts'
import { createRunWriter } from '../events/run-events.ts'
import type { EventSink } from '../events/sse.ts'
import { streamEvents } from '../events/sse.ts'
import type { AskedRun } from '../resolve.ts'
import { parseThreadName } from '../threads/thread-name.ts'
import type { WebOwner } from '../verify.ts'
import { senderOf } from '../verify.ts'
import { withDecisionLinks } from './decision-links.ts'
import { followTurn } from './follow-turn.ts'
import type { Present } from './run-watcher.ts'
import { createWatcher, failToFollow, finish } from './run-watcher.ts'
import type { StartedRun } from './started-run.ts'

/** A run with its owner, in the form that its stream needs. */
export type ShownRun = Pick<AskedRun, 'owner' | 'agent' | 'input'>

/** Streams a run until its end. `leave` is called when the client has disconnected or has read everything. */
export function streamRun(
  asked: ShownRun,
  started: StartedRun,
  deps: WebDeps,
  leave: () => void,
): ReadableStream<Uint8Array> {
  return streamEvents(
    sink => {
      const stop = playRun(asked, started, deps, sink)
      return () => {
        stop()
        leave()
      }
    },
    untilEnd(asked.owner, deps),
  )
}

/** Returns the time for which a credential is still valid, ms, or undefined if it does not expire. The run continues without its reader. */
export function untilEnd(
  { endsAt }: Pick<WebOwner, 'endsAt'>,
  { gateway }: Pick<WebDeps, 'gateway'>,
): number | undefined {
  return endsAt === undefined ? undefined : endsAt - gateway.system.now()
}

/** The id of the last event of a run. A client that has it has nothing more to read. */
export const endOf = (run: string) => `${encodeURIComponent(run)}/end`

const endTypes: ReadonlySet<string> = new Set([EventType.RUN_FINISHED, EventType.RUN_ERROR])

/**
 * Writes the events of a run from its start to its end, where it closes the sink. It returns a function that stops it.
 */
export function playRun(
  asked: ShownRun,
  started: StartedRun,
  { config, gateway }: WebDeps,
  sink: EventSink,
): () => void {
  const { threadId, runId, parentRunId, tools } = asked.input
  const { system, store, agents, fileAddress, showRequirement } = gateway
  const clientTools = new Set(tools.map(({ name }) => name))
  const isEarlier = isEarlierClient(asked.input)
  const showsTrace = config.trace
  // The history leaves notes out too, because notes of conversations on other channels may concern other people.
  const showsNotes = showsTrace && !parseThreadName(threadId, { gateway })
  const told = { agent: asked.agent, showsTrace, showsNotes, fileAddress }
  const run = {
    threadId,
    runId,
    parentRunId,
    clientTools,
    now: system.now,
    askedAt: started.watched?.askedAt,
    ...told,
  }
  const send = (event: Event) => sink.send(event, endTypes.has(event.type) ? endOf(runId) : undefined)
  const writer = createRunWriter(run, isEarlier ? createEarlierWriter(send) : send)
  // Only this person reads the stream, so it shows the addresses where they decide.
  const sender = senderOf(asked.owner, `@${asked.agent}@${agents.domain}`, system.now())
  const present: Present = response => {
    const presented = presentResponse(response, { sender }, showRequirement)
    return isEarlier ? withDecisionLinks(presented) : presented
  }
  const { listOpen, readMessages, isTold } = started
  const watcher = createWatcher(writer, { sink, present, listOpen, readMessages, isTold, done: sink.close })
  writer.start()
  for (const snapshot of started.snapshots) writer.snapshot(snapshot)
  if (started.state) writer.state(started.state)
  for (const warning of started.warnings) writer.warn(warning)
  // The turn is followed before the agent begins, because a late follower gets the answer only at its end.
  const isPaused = () => gateway.isPaused?.(asked.agent) === true
  const stop = started.watched && followTurn(started.watched, watcher, { store, system, isPaused })
  if (!stop)
    void endWithoutTurn(asked, started, writer)
      .catch(() => failToFollow(writer))
      .then(sink.close)
  return stop ?? (() => undefined)
}

/** Ends a run without new content. It fails if a decision did not count. */
async function endWithoutTurn(
  { input }: ShownRun,
  { warnings, listOpen, isAsking }: StartedRun,
  writer: RunWriter,
): Promise<void> {
  const wasAsked = (input.resume?.length ?? 0) > 0
  if (wasAsked && !isAsking) writer.fail(warnings.at(-1) ?? 'Nothing was decided', 'not_decided')
  else finish(writer, await listOpen())
}
