import { ReadableStream } from 'node:stream/web'
import type { NoticeStore } from '@postern/core'
import { changeKinds, Rejection } from '@postern/core'
import { sseHeaders } from '@postern/http'
import { createOpenCount } from '@postern/limits'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'
import { listFilters } from '../../api/page.ts'
import { createChangeRing } from '../../observe/telemetry/observe-store.ts'
import type { EventStore } from './stream.ts'
import { streamChanges } from './stream.ts'

const { agent, channel } = listFilters

export const eventOperation = defineOperation({
  id: 'followEvents',
  method: 'GET',
  path: '/events',
  summary: 'Streams what changes, as server-sent events; `Last-Event-ID` or `after` goes on behind an event.',
  task: 'follow events',
  query: z.object({
    agent,
    channel,
    kind: z.array(z.enum(changeKinds)).optional().describe('Only events of these kinds; default: all.'),
    after: z.string().max(100).optional().describe('Id of the last event that the reader saw.'),
  }),
  media: {
    'text/event-stream': z
      .string()
      .describe(
        'Events `message` and `turn` have a `MessageSummary` as data, `delivery` a `Delivery` without `wire` and `attempt_log`, `refusal` a `Refusal`, `requirement` the number of its `message`. Several changes of one record are one event. `ready` begins the stream; `reload` says that events are missing: read the lists anew.',
      ),
  },
  refusals: { rate_limited: 'Too many streams are open.' },
})

interface EventRouteOptions {
  readonly store: EventStore & Pick<NoticeStore, 'listen'>
  /** Ends all streams. */
  readonly leaving: AbortSignal
  now(): number
}

/** Streams that are open at a time. */
const mostStreams = 50

/** What changes, as it changes, whichever gateway of the store does it. */
export function createEventRoute({ store, leaving, now }: EventRouteOptions): OperatorRoute {
  const ring = createChangeRing({ store, now })
  leaving.addEventListener('abort', ring.close, { once: true })
  const refuse = () => new Rejection('rate_limited', 'Cannot follow events: too many streams are open')
  const enter = createOpenCount(mostStreams, refuse)
  return handleOperation(eventOperation, async ({ query, context }) => {
    const leave = enter('')
    const ending = new AbortController()
    const signal = AbortSignal.any([leaving, context.req.raw.signal, ending.signal])
    const { agent, channel, kind: kinds = changeKinds, after } = query
    const lastId = context.req.header('last-event-id') ?? after
    const events = streamChanges({ ring, store, now, agent, channel, kinds, lastId, signal })
    const body = toByteStream(events, () => {
      leave()
      ending.abort()
    })
    return new Response(body as BodyInit, { headers: sseHeaders })
  })
}

/** Reads on only when the reader has taken what there is. `onEnd` may be called twice. */
function toByteStream(texts: AsyncGenerator<string>, onEnd: () => void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = await texts.next().catch(error => {
          // A stream that fails is not canceled.
          onEnd()
          throw error
        })
        if (!done) return controller.enqueue(encoder.encode(value))
        onEnd()
        controller.close()
      },
      cancel: onEnd,
    },
    { highWaterMark: 0 },
  )
}
