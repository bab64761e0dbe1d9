// Serves A2A with one durable insert per call and nothing else: the floor of the comparison.
import { Hono } from 'hono'
import { serveDurable } from '../servers/durable-log.ts'

interface SendMessage {
  readonly id: string
  readonly params: { readonly message: { readonly messageId: string } }
}

await serveDurable(log =>
  new Hono().post('/agents/:agent/a2a', async context => {
    const body = new Uint8Array(await context.req.arrayBuffer())
    const { id, params } = JSON.parse(new TextDecoder().decode(body)) as SendMessage
    await log.append(params.message.messageId, body)
    const status = { state: 'TASK_STATE_COMPLETED', timestamp: new Date().toISOString() }
    const artifacts = [{ artifactId: 'answer', parts: [{ text: 'ok' }] }]
    return context.json({
      jsonrpc: '2.0',
      id,
      result: { task: { id: params.message.messageId, contextId: id, status, artifacts } },
    })
  }),
)
