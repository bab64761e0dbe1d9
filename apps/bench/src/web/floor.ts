// Serves an AG-UI run with one durable insert and constant events: the floor of the comparison.
import { Hono } from 'hono'
import { serveDurable } from '../servers/durable-log.ts'

interface RunInput {
  readonly threadId: string
  readonly runId: string
}

/** Serves the least that a durable AG-UI server does: it parses and stores a body, and sends the events of a fixed answer. */
await serveDurable(log =>
  new Hono().post('/api/v1/agents/:agent/runs', async context => {
    const body = new Uint8Array(await context.req.arrayBuffer())
    const { threadId, runId } = JSON.parse(new TextDecoder().decode(body)) as RunInput
    await log.append(runId, body)
    return context.body(listEvents(threadId, runId), 200, { 'content-type': 'text/event-stream' })
  }),
)

function listEvents(threadId: string, runId: string): string {
  const messageId = `answer-${runId}`
  const events = [
    { type: 'RUN_STARTED', threadId, runId },
    { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' },
    { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: 'ok' },
    { type: 'TEXT_MESSAGE_END', messageId },
    { type: 'RUN_FINISHED', threadId, runId },
  ]
  return events.map(event => `data: ${JSON.stringify(event)}\n\n`).join('')
}
