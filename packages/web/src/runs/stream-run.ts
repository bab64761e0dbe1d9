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
import type { RequestedRun } from '../resolve.ts'
import { parseThreadName } from '../threads/thread-name.ts'
import type { WebOwner } from '../verify.ts'
import { senderOf } from '../verify.ts'
import { withDecisionLinks } from './decision-links.ts'
import { followTurn } from './follow-turn.ts'
import type { Present } from './run-watcher.ts'
import { createWatcher, failToFollow, finishRun } from './run-watcher.ts'
import type { StartedRun } from './started-run.ts'

/** A run with its owner, in the form that its stream needs. */
export type RunReference = Pick<RequestedRun, 'owner' | 'agent' | 'input'>

/** Streams a run until its end. `release` is called when the client has disconnected or has read everything. */
export function streamRun(
  request: RunReference,
  startedRun: StartedRun,
  deps: WebDeps,
  release: () => void,
): ReadableStream<Uint8Array> {
  return streamEvents(
    sink => {
      const stop = playRun(request, startedRun, deps, sink)
      return () => {
        stop()
        release()
      }
    },
    remainingValidityMs(request.owner, deps),
  )
}

/** Returns the time for which a credential is still valid, ms, or undefined if it does not expire. The run continues without its reader. */
export function remainingValidityMs(
  { endsAt }: Pick<WebOwner, 'endsAt'>,
  { gateway }: Pick<WebDeps, 'gateway'>,
): number | undefined {
  return endsAt === undefined ? undefined : endsAt - gateway.system.now()
}

/** The id of the last event of a run. A client that has it has nothing more to read. */
export const endEventIdOf = (run: string) => `${encodeURIComponent(run)}/end`

const endTypes: ReadonlySet<string> = new Set([EventType.RUN_FINISHED, EventType.RUN_ERROR])

/**
 * Writes the events of a run from its start to its end, where it closes the sink. It returns a function that stops it.
 */
export function playRun(
  request: RunReference,
  startedRun: StartedRun,
  { config, gateway }: WebDeps,
  sink: EventSink,
): () => void {
  const { threadId, runId, parentRunId, tools } = request.input
  const { system, store, agents, fileAddress, showRequirement } = gateway
  const clientTools = new Set(tools.map(({ name }) => name))
  const isEarlier = isEarlierClient(request.input)
  const showsTrace = config.trace
  // The history leaves notes out too, because notes of conversations on other channels may concern other people.
  const showsNotes = showsTrace && !parseThreadName(threadId, { gateway })
  const writerOptions = { agent: request.agent, showsTrace, showsNotes, fileAddress }
  const run = {
    threadId,
    runId,
    parentRunId,
    clientTools,
    now: system.now,
    askedAt: startedRun.watchedTurn?.askedAt,
    ...writerOptions,
  }
  const send = (event: Event) => sink.send(event, endTypes.has(event.type) ? endEventIdOf(runId) : undefined)
  const writer = createRunWriter(run, isEarlier ? createEarlierWriter(send) : send)
  // Only this person reads the stream, so it shows the addresses where they decide.
  const sender = senderOf(request.owner, `@${request.agent}@${agents.domain}`, system.now())
  const present: Present = response => {
    const presentedResponse = presentResponse(response, { sender }, showRequirement)
    return isEarlier ? withDecisionLinks(presentedResponse) : presentedResponse
  }
  const { listOpen, readMessages, isReported } = startedRun
  const watcher = createWatcher(writer, { sink, present, listOpen, readMessages, isReported, onDone: sink.close })
  writer.start()
  for (const snapshot of startedRun.snapshots) writer.snapshot(snapshot)
  if (startedRun.state) writer.state(startedRun.state)
  for (const warning of startedRun.warnings) writer.warn(warning)
  // The turn is followed before the agent begins, because a late follower gets the answer only at its end.
  const isPaused = () => gateway.isPaused?.(request.agent) === true
  const stop = startedRun.watchedTurn && followTurn(startedRun.watchedTurn, watcher, { store, system, isPaused })
  if (!stop)
    void endWithoutTurn(request, startedRun, writer)
      .catch(() => failToFollow(writer))
      .then(sink.close)
  return stop ?? (() => undefined)
}

/** Ends a run without new content. It fails if a decision did not count. */
async function endWithoutTurn(
  { input }: RunReference,
  { warnings, listOpen, isAsking }: StartedRun,
  writer: RunWriter,
): Promise<void> {
  const isResuming = (input.resume?.length ?? 0) > 0
  if (isResuming && !isAsking) writer.fail(warnings.at(-1) ?? 'Nothing was decided', 'not_decided')
  else finishRun(writer, await listOpen())
}
