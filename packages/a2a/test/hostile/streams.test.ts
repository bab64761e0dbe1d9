import { once } from 'node:events'
import { connect } from 'node:http2'
import { status } from '@grpc/grpc-js'
import { answerWithBody } from '@postern/http'
import type { Agent } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { EventStream, renderSse, writePlainEvent } from '../../src/streams/sse.ts'
import { openA2aGateway } from '../setup/gateway.ts'
import { openGrpcClient } from '../setup/grpc-client.ts'
import { openStream } from '../setup/sse.ts'

const says = (content: string) => ({ kind: 'text', mime: 'text/plain', content }) as const
const large: Agent = { handle: () => ({ parts: [says('x'.repeat(2 * 1024 * 1024))] }) }

test('the gateway does not drop a reading gRPC client for one large event (A2A-S04)', async () => {
  const gateway = await openA2aGateway({ agents: { large }, config: { grpc: { port: 0 } } })
  const listening = await gateway.channel.endpoint.listen?.()
  const client = openGrpcClient(listening?.port ?? 0)
  const metadata = { authorization: `Bearer ${gateway.token}`, 'a2a-version': '1.0' }
  const part = { content: { $case: 'text', value: 'x' }, metadata: undefined, filename: '', mediaType: '' }
  const emptyMembers = { contextId: '', taskId: '', metadata: undefined, extensions: [], referenceTaskIds: [] }
  const request = { tenant: '', message: { messageId: 'm', role: 1, parts: [part], ...emptyMembers } }
  const { messages, status: ended } = await client.call('sendStreamingMessage', request, { metadata })
  expect(ended.code).toBe(status.OK)
  expect(messages.length).toBeGreaterThan(1)
  client.close()
  await listening?.close()
  await gateway.close()
})

test.each(['rpc', 'rest'] as const)(
  'the gateway does not drop a reading client for one large event of %s (A2A-S04)',
  async binding => {
    const gateway = await openA2aGateway({ agents: { large } })
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] }
    const stream = await openStream(gateway, 'SendStreamingMessage', { message }, { binding })
    const events = await stream.events()
    expect(events.at(-1).statusUpdate.status.state).toBe('TASK_STATE_COMPLETED')
    await gateway.close()
  },
)

test('the chunks of a large event stay together for an eager client (A2A-S06)', async () => {
  const text = 'y'.repeat(50_000)
  const events = Array.from({ length: 9 }, (_, at) => ({
    message: { messageId: `${at}`, role: 'ROLE_AGENT' as const, parts: [{ text }] },
  }))
  const stream = new EventStream(sink => {
    void Promise.resolve().then(() => {
      for (const event of events) sink.send(event, 'x')
      sink.end()
    })
    return () => undefined
  })
  const format = {
    writeEvent: writePlainEvent,
    frame: ['<', '>'] as const,
    formatError: () => undefined,
    hasIds: false,
  }
  const reader = answerWithBody(undefined, renderSse(stream, format), {}).body?.getReader()
  const reads = await Promise.all(Array.from({ length: 40 }, () => reader?.read()))
  const joinedText = reads.map(read => Buffer.from(read?.value ?? []).toString()).join('')
  expect(joinedText).toBe(events.map(event => `data: <${JSON.stringify(event)}>\n\n`).join(''))
})

test('over gRPC the gateway refuses a stranger before it reads the message (A2A-A01)', async () => {
  const gateway = await openA2aGateway({ config: { grpc: { port: 0 } } })
  const listening = await gateway.channel.endpoint.listen?.()
  const session = connect(`http://127.0.0.1:${listening?.port}`)
  const request = session.request({
    ':method': 'POST',
    ':path': '/lf.a2a.v1.A2AService/SendMessage',
    'content-type': 'application/grpc',
    te: 'trailers',
  })
  request.on('error', () => undefined)
  // The beginning of a message of 4 MB that never ends.
  const length = Buffer.alloc(5)
  length.writeUInt32BE(4_000_000, 1)
  request.write(Buffer.concat([length, Buffer.alloc(1_000_000)]))
  const [headers] = await once(request, 'response')
  expect(headers['grpc-status']).toBe(String(status.UNAUTHENTICATED))
  // Flow control has admitted only one window.
  expect(request.writableLength).toBeGreaterThan(0)
  expect(gateway.refusals.at(-1)?.code).toBe('unsigned')
  session.destroy()
  await listening?.close()
  await gateway.close()
})
