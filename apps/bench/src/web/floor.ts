// Serves an AG-UI run with two durable inserts and the events of a constant answer: the floor of the comparison.
import { hash } from 'node:crypto'
import { Hono } from 'hono'
import { serveDurable } from '../servers/durable-log.ts'

interface Setup {
  /** The callers: the name of each token, and its digest. */
  readonly tokens: readonly { readonly name: string; readonly sha256: string }[]
}

interface RunInput {
  readonly threadId: string
  readonly runId: string
}

/**
 * Serves the least that a durable AG-UI server does: it finds the caller of a token, parses and stores the message, streams the beginning of the run,
 * stores the agent's answer and streams the rest. As in Postern, the agent gets a message that is on disk, and the end follows an answer on disk.
 */
await serveDurable<Setup>((log, { tokens }) => {
  const callers = new Map(tokens.map(({ name, sha256 }) => [sha256, name]))
  return new Hono().post('/api/v1/agents/:agent/runs', async context => {
    const token = context.req.header('authorization')?.slice('Bearer '.length) ?? ''
    if (!callers.has(hash('sha256', token))) return context.body(null, 401)
    const body = new Uint8Array(await context.req.arrayBuffer())
    const { threadId, runId } = JSON.parse(new TextDecoder().decode(body)) as RunInput
    await log.append(runId, body)
    const answer = 'ok'
    const stream = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(encodeEvents([{ type: 'RUN_STARTED', threadId, runId }]))
        await log.appendAnswer(`answer-${runId}`, Buffer.from(answer))
        controller.enqueue(encodeEvents(listAnswerEvents({ threadId, runId }, answer)))
        controller.close()
      },
    })
    return context.body(stream, 200, { 'content-type': 'text/event-stream' })
  })
})

function listAnswerEvents({ threadId, runId }: RunInput, delta: string): readonly object[] {
  const messageId = `answer-${runId}`
  return [
    { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' },
    { type: 'TEXT_MESSAGE_CONTENT', messageId, delta },
    { type: 'TEXT_MESSAGE_END', messageId },
    { type: 'RUN_FINISHED', threadId, runId },
  ]
}

function encodeEvents(events: readonly object[]): Uint8Array<ArrayBuffer> {
  return Buffer.from(events.map(event => `data: ${JSON.stringify(event)}\n\n`).join(''))
}
