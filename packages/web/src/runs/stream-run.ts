import type { NormalizedResponse } from '@postern/core'
import { plainTextOf, presentResponse } from '@postern/core'
import { senderOf } from '../owner.ts'
import type { WebRooms } from '../rooms.ts'
import type { TurnEnding, TurnWatcher } from './follow-turn.ts'
import { followTurn } from './follow-turn.ts'
import type { RunWriter } from './run-events.ts'
import { createRunWriter, listInterrupts } from './run-events.ts'
import type { EventSink } from './sse.ts'
import { streamEvents } from './sse.ts'
import type { AskedRun, StartedRun } from './start-run.ts'

/** A run told as it goes; `leave` is called when nobody follows it any more. */
export function streamRun(
  asked: AskedRun,
  started: StartedRun,
  { config, house: { world, desk, agents, fileAddress, showDemand } }: WebRooms,
  leave: () => void,
): ReadableStream<Uint8Array> {
  const { threadId, runId, parentRunId, tools } = asked.input
  const clientTools = new Set(tools.map(({ name }) => name))
  return streamEvents(sink => {
    const told = { agent: asked.agent, showsTrace: config.trace, fileAddress }
    const place = {
      threadId,
      runId,
      parentRunId,
      clientTools,
      now: world.now,
      askedAt: started.watched?.askedAt,
      ...told,
    }
    const writer = createRunWriter(place, sink.send)
    // Nobody else reads this stream: with the addresses by which its person decides.
    const sender = senderOf(asked.owner, `@${asked.agent}@${agents.domain}`, world.now())
    const present: Present = response => presentResponse(response, { sender }, showDemand)
    const close = () => {
      leave()
      sink.close()
    }
    writer.start()
    for (const snapshot of started.snapshots) writer.snapshot(snapshot)
    if (started.state) writer.behind({ chat_state: started.state })
    for (const warning of started.warnings) writer.warn(warning)
    // At once, while the agent has not yet begun: whoever comes late hears the answer only at its end.
    const stop =
      started.watched &&
      followTurn(started.watched, createWatcher(writer, { sink, present, done: close }), { desk, world })
    if (!stop) {
      endWithoutTurn(asked, started, writer)
      close()
    }
    return () => {
      stop?.()
      leave()
    }
  })
}

/** Nothing new was said: what is stored was told. A decision that did not count is no success. */
function endWithoutTurn({ input }: AskedRun, { warnings }: StartedRun, writer: RunWriter): void {
  const wasAsked = (input.resume?.length ?? 0) > 0
  if (wasAsked) writer.fail(warnings.at(-1) ?? 'Nothing was decided', 'not_decided')
  else writer.finish({ kind: 'success' })
}

type Present = (response: NormalizedResponse) => NormalizedResponse

interface Watching {
  readonly sink: Pick<EventSink, 'beat' | 'isFull'>
  readonly present: Present
  done(): void
}

function createWatcher(writer: RunWriter, { sink, present, done }: Watching): TurnWatcher {
  let isBehind = false
  // What is left out comes with the whole answer, in its order.
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
    beat: sink.beat,
    end(ending) {
      tellEnding({ ...ending, response: ending.response && present(ending.response) }, writer)
      done()
    },
    fail() {
      writer.fail('The run cannot be followed any more. Its answer will be in the history.', 'unavailable')
      done()
    },
  }
}

function tellEnding({ response, isCanceled }: TurnEnding, writer: RunWriter): void {
  if (isCanceled) writer.finish({ kind: 'cancelled' })
  else if (!response) writer.finish({ kind: 'success' })
  else if (response.status === 'failed') writer.fail(wordsOf(response), 'agent_failed', response)
  else tellResponse(response, writer)
}

function tellResponse(response: NormalizedResponse, writer: RunWriter): void {
  writer.complete(response)
  const interrupts = listInterrupts(response)
  writer.finish(interrupts.length > 0 ? { kind: 'interrupt', interrupts } : { kind: 'success' })
}

function wordsOf({ parts }: NormalizedResponse): string {
  return plainTextOf(parts) || 'The agent failed'
}
