import { ReadableStream } from 'node:stream/web'
import type { NoticeStore } from '@postern/core'
import { changeKinds, Rejection } from '@postern/core'
import { sseHeaders } from '@postern/http'
import type { OperatorRoute } from '../../api/operation.ts'
import { handleOperation } from '../../api/operation.ts'
import { createChangeRing } from './change-ring.ts'
import { eventOperations } from './operations.ts'
import type { EventStore } from './read-changes.ts'
import { streamChanges } from './stream.ts'

interface EventRouteOptions {
  readonly store: EventStore & Pick<NoticeStore, 'listen'>
  /** Ends all streams. */
  readonly leaving: AbortSignal
  now(): number
}

/** Streams that are open at a time. */
const mostStreams = 50

/** What changes, as it changes, whichever gateway of the store does it. */
export function createEventRoutes({ store, leaving, now }: EventRouteOptions): readonly OperatorRoute[] {
  const ring = createChangeRing({ store, now })
  leaving.addEventListener('abort', ring.close, { once: true })
  let open = 0

  return [
    handleOperation(eventOperations.follow, async ({ query, context }) => {
      if (open >= mostStreams) throw new Rejection('rate_limited', 'Cannot follow events: too many streams are open')
      const ending = new AbortController()
      const signal = AbortSignal.any([leaving, context.req.raw.signal, ending.signal])
      const { agent, channel, kind: kinds = changeKinds, after } = query
      const lastId = context.req.header('last-event-id') ?? after
      const events = streamChanges({ ring, store, now, agent, channel, kinds, lastId, signal })
      open += 1
      const body = toByteStream(events, () => {
        open -= 1
        ending.abort()
      })
      return new Response(body as BodyInit, { headers: sseHeaders })
    }),
  ]
}

/** Reads on only when the reader has taken what there is. */
function toByteStream(texts: AsyncGenerator<string>, onEnd: () => void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let hasEnded = false
  const end = () => {
    if (!hasEnded) onEnd()
    hasEnded = true
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = await texts.next().catch(error => {
          // A stream that fails is not canceled.
          end()
          throw error
        })
        if (!done) return controller.enqueue(encoder.encode(value))
        end()
        controller.close()
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  )
}
