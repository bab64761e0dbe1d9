// Serves a constant A2A answer on bare Hono, the upper bound of the comparison.
import { Hono } from 'hono'
import { serveMeasured } from '../servers/child.ts'
import { listenFetch } from '../servers/hono.ts'

interface Call {
  readonly id: string
  readonly method: string
}

const status = { state: 'TASK_STATE_COMPLETED', timestamp: '2026-01-01T00:00:00.000Z' }
const ids = { taskId: 'task', contextId: 'context' }
const artifact = { artifactId: 'answer', parts: [{ text: 'ok' }] }
const task = { id: 'task', contextId: 'context', status }

/** Serves constant answers with Hono. It parses each body, and neither checks nor stores anything. */
await serveMeasured(async () => {
  let handledCount = 0
  const app = new Hono().post('/agents/:agent/a2a', async context => {
    const { id, method } = await context.req.json<Call>()
    handledCount++
    if (method === 'SendMessage') {
      return context.json({ jsonrpc: '2.0', id, result: { task: { ...task, artifacts: [artifact] } } })
    }
    return context.body(streamConstant(id), 200, { 'content-type': 'text/event-stream' })
  })
  return { port: await listenFetch(app.fetch), handled: () => handledCount }
})

function streamConstant(id: string): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const events = [
    { task },
    { artifactUpdate: { ...ids, artifact, lastChunk: true } },
    { statusUpdate: { ...ids, status } },
  ]
  return new ReadableStream({
    start(controller) {
      for (const result of events) {
        controller.enqueue(encoder.encode(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`))
      }
      controller.close()
    },
  })
}
