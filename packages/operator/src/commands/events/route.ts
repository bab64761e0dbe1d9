// Streams changes of messages and deliveries to the operator, from every gateway on the store.
import { ReadableStream } from 'node:stream/web'
import { sseHeaders } from '@postern/http'
import { createOpenCount } from '@postern/limits'
import { Rejection } from '@postern/message'
import type { NoticeStore } from '@postern/pipeline'
import { changeKinds } from '@postern/pipeline'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'
import { listFilters, unknownNameRefusal } from '../../api/page.ts'
import { createChangeRing } from './change-ring.ts'
import type { EventStore } from './stream.ts'
import { streamChanges } from './stream.ts'

const { agent, channel } = listFilters

export const eventOperation = defineOperation({
  id: 'followEvents',
  method: 'GET',
  path: '/events',
  summary: 'Streams what changes, as server-sent events; `Last-Event-ID` or `after` continues after an event.',
  task: 'follow events',
  query: z.object({
    agent,
    channel,
    kind: z.array(z.enum(changeKinds)).optional().describe('Only events of these kinds; default: all.'),
    after: z.string().max(100).optional().describe('Id of the last event that the reader saw.'),
  }),
  mediaTypes: {
    'text/event-stream': z
      .string()
      .describe(
        'Events `message` and `turn` have a `MessageSummary` as data, `delivery` a `Delivery` without `wire` and `attempt_log`, `refusal` a `Refusal`, `requirement` the number of its `message`. Several changes of one record are one event. `ready` begins the stream; `reload` says that events are missing: read the lists anew.',
      ),
  },
  refusals: { ...unknownNameRefusal, rate_limited: 'Too many streams are open.' },
})

interface EventRouteOptions {
  readonly store: EventStore & Pick<NoticeStore, 'listen'>
  /** Ends all streams when it aborts. */
  readonly signal: AbortSignal
  now(): number
}

/** The maximum number of open streams. */
const maxStreams = 50

export function createEventRoute({ store, signal, now }: EventRouteOptions): OperatorRoute {
  const changeRing = createChangeRing({ store, now })
  signal.addEventListener('abort', changeRing.close, { once: true })
  const refuse = () => new Rejection('rate_limited', 'Cannot follow events: too many streams are open')
  const openStream = createOpenCount(maxStreams, refuse)
  return handleOperation(eventOperation, async ({ query, context }) => {
    const release = openStream('')
    const streamEnd = new AbortController()
    const streamSignal = AbortSignal.any([signal, context.req.raw.signal, streamEnd.signal])
    const { agent, channel, kind: kinds = changeKinds, after } = query
    const lastId = context.req.header('last-event-id') ?? after
    const events = streamChanges({ ring: changeRing, store, now, agent, channel, kinds, lastId, signal: streamSignal })
    const body = toByteStream(events, () => {
      release()
      streamEnd.abort()
    })
    return new Response(body as BodyInit, { headers: sseHeaders })
  })
}

/** Converts texts to a byte stream, and requests the next text only after the reader has consumed the last one. It may call `onEnd` twice. */
function toByteStream(texts: AsyncGenerator<string>, onEnd: () => void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = await texts.next().catch(error => {
          // A failing stream does not call `cancel`.
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
