import type { Event } from '@ag-ui/core'
import { EventType } from '@ag-ui/core'
import { answerWithBody } from '@postern/http'
import { describe, expect, it } from 'vitest'
import type { EventSink } from './sse.ts'
import { streamEvents } from './sse.ts'

const createTextEvent = (bytes: number): Event => ({
  type: EventType.TEXT_MESSAGE_CONTENT,
  messageId: 'm',
  delta: 'x'.repeat(bytes),
})

function openStream(...streamArguments: Parameters<typeof streamEvents>): ReadableStream<Uint8Array> {
  const { body } = answerWithBody(undefined, streamEvents(...streamArguments), {})
  if (!body) throw new Error('the answer has no body')
  return body
}

function open(first: readonly Event[] = []) {
  const quota = { left: 0, sink: undefined as EventSink | undefined }
  const stream = openStream(sink => {
    quota.sink = sink
    for (const event of first) sink.send(event)
    return () => {
      quota.left += 1
    }
  })
  return { quota, stream }
}

describe('streamEvents()', () => {
  it('escapes line endings that some clients would recognize inside an event', async () => {
    const words = 'a\u2028b\u2029c\u0085d'
    const { quota, stream } = open([{ type: EventType.TEXT_MESSAGE_CONTENT, messageId: 'm', delta: words }])
    quota.sink?.close()
    const text = await new Response(stream).text()
    expect(text).not.toMatch(/[\u0085\u2028\u2029]/)
    expect(JSON.parse(text.replace('data: ', '')).delta).toBe(words)
  })

  it('ends when its reader’s time is over', async () => {
    let left = 0
    const stream = openStream(sink => {
      sink.send(createTextEvent(1))
      return () => {
        left += 1
      }
    }, 20)
    expect(await new Response(stream).text()).toMatch(/^data: .*\n\n$/)
    expect(left).toBe(1)
  })

  it('sends an event of any size to a client that reads', async () => {
    const { quota, stream } = open([createTextEvent(9_000_000), createTextEvent(1), createTextEvent(1)])
    quota.sink?.close()
    expect((await new Response(stream).text()).length).toBeGreaterThan(9_000_000)
  })

  it('does not count a new client as slow, however much the stream begins with', async () => {
    const { quota, stream } = open([createTextEvent(9_000_000), createTextEvent(9_000_000), createTextEvent(1)])
    quota.sink?.close()
    expect((await new Response(stream).text()).length).toBeGreaterThan(18_000_000)
    expect(quota.left).toBe(1)
  })

  it('counts a client until it has read everything, also after the last event', async () => {
    const { quota, stream } = open([createTextEvent(100_000), createTextEvent(100_000)])
    quota.sink?.close()
    quota.sink?.send(createTextEvent(1))
    expect(quota.left).toBe(0)
    const reader = stream.getReader()
    expect((await reader.read()).done).toBe(false)
    expect(quota.left).toBe(0)
    expect((await reader.read()).done).toBe(false)
    expect((await reader.read()).done).toBe(true)
    expect(quota.left).toBe(1)
  })

  it('drops a client that does not read, with a buffer of only a few MB', async () => {
    const { quota, stream } = open()
    for (let i = 0; i < 1_000; i++) quota.sink?.send(createTextEvent(10_000))
    expect(quota.left).toBe(1)
    await expect(new Response(stream).text()).rejects.toThrow('the client reads too slowly')
  })

  it('ends when a client leaves before it has read everything', async () => {
    const { quota, stream } = open([createTextEvent(100_000)])
    quota.sink?.close()
    await stream.cancel()
    expect(quota.left).toBe(1)
  })

  it('ends once when a client leaves, and sends nothing more', async () => {
    const { quota, stream } = open([createTextEvent(1)])
    await stream.cancel()
    quota.sink?.send(createTextEvent(1))
    quota.sink?.sendHeartbeat()
    quota.sink?.close()
    expect(quota.left).toBe(1)
  })
})
