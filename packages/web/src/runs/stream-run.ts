// Streams a run as events, from its start to its end.
import type { Event } from '@ag-ui/core'
import { EventType } from '@ag-ui/core'
import type { StreamedBody } from '@postern/http'
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
import type { PresentAnswer } from './run-watcher.ts'
import { createWatcher, failToFollow, finishRun } from './run-watcher.ts'
import type { StartedRun } from './started-run.ts'

/** A run with its owner, in the form that its stream needs. */
export type RunReference = Pick<RequestedRun, 'owner' | 'agent' | 'input'>

interface StreamedRun {
  readonly request: RunReference
  readonly startedRun: StartedRun
  readonly deps: WebDeps
}

/** Streams a run until its end. `release` is called when the client has disconnected or has read everything. */
export function streamRun({ release, ...run }: StreamedRun & { readonly release: () => void }): StreamedBody {
  return streamEvents(
    sink => {
      const stop = playRun({ ...run, sink })
      return () => {
        stop()
        release()
      }
    },
    remainingValidityMs(run.request.owner, run.deps),
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

type PlayedRun = StreamedRun & { readonly sink: EventSink }

/** Writes the events of a run from its start to its end, where it closes the sink. Returns a function that stops the run's stream. */
export function playRun(run: PlayedRun): () => void {
  const { request, startedRun, deps, sink } = run
  const { readInterrupts, readMessages, isReported, watchedTurn } = startedRun
  const writer = openWriter(run)
  const presentAnswer = createPresentAnswer(request, deps)
  const onDone = sink.close
  const watcher = createWatcher(writer, { sink, presentAnswer, readInterrupts, readMessages, isReported, onDone })
  writer.start()
  for (const snapshot of startedRun.snapshots) writer.writeSnapshot(snapshot)
  if (startedRun.state) writer.writeState(startedRun.state)
  for (const warning of startedRun.warnings) writer.warn(warning)
  if (!watchedTurn) {
    void endWithoutTurn(request, startedRun, writer)
      .catch(() => failToFollow(writer))
      .then(sink.close)
    return () => undefined
  }
  // The turn is followed before the agent begins, because a late follower gets the answer only at its end.
  const { store, system, isPaused } = deps.gateway
  const { turnPolls } = deps
  return followTurn(watchedTurn, watcher, {
    store,
    system,
    turnPolls,
    isPaused: () => isPaused?.(request.agent) === true,
  })
}

function openWriter({ request, startedRun, deps: { config, gateway }, sink }: PlayedRun): RunWriter {
  const { threadId, runId, parentRunId, tools } = request.input
  const send = (event: Event) => sink.send(event, endTypes.has(event.type) ? endEventIdOf(runId) : undefined)
  return createRunWriter(
    {
      threadId,
      runId,
      parentRunId,
      agent: request.agent,
      clientTools: new Set(tools.map(({ name }) => name)),
      now: gateway.system.now,
      askedAt: startedRun.watchedTurn?.askedAt,
      showsTrace: config.trace,
      // The history leaves notes out too, because notes of conversations on other channels may concern other people.
      showsNotes: config.trace && !parseThreadName(threadId, { gateway }),
      fileAddress: gateway.fileAddress,
    },
    isEarlierClient(request.input) ? createEarlierWriter(send) : send,
  )
}

/** Creates the presentation of answers. Only the run's owner reads the stream, so it shows the addresses where they decide. */
function createPresentAnswer(request: RunReference, { gateway }: WebDeps): PresentAnswer {
  const { system, agents, showRequirement } = gateway
  const sender = senderOf(request.owner, `@${request.agent}@${agents.domain}`, system.now())
  return response => {
    const presentedResponse = presentResponse(response, { sender }, showRequirement)
    return isEarlierClient(request.input) ? withDecisionLinks(presentedResponse) : presentedResponse
  }
}

/** Ends a run without new content. It fails if a decision did not count. */
async function endWithoutTurn(
  { input }: RunReference,
  { warnings, readInterrupts, isAsking }: StartedRun,
  writer: RunWriter,
): Promise<void> {
  const isResuming = (input.resume?.length ?? 0) > 0
  if (isResuming && !isAsking) writer.fail(warnings.at(-1) ?? 'Nothing was decided', 'not_decided')
  else finishRun(writer, await readInterrupts())
}
