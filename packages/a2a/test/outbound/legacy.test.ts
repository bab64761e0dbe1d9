import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { TestPeer } from '../setup/peer.ts'
import { cardUrl, openAgentPeer } from '../setup/peer.ts'

let peer: TestPeer

beforeEach(async () => {
  peer = await openAgentPeer()
  peer.card = {
    name: 'Old',
    protocolVersion: '0.3.0',
    url: 'https://peer.test/rpc',
    preferredTransport: 'JSONRPC',
    capabilities: {},
    security: [{ bearer: [] }],
  }
})
afterEach(() => peer.close())

const rpcs = () => peer.requests.filter(({ path }) => path === '/rpc')
const text = (content: string) => ({ kind: 'text', mime: 'text/plain', content })
const task = (state: string, overrides: object = {}) => ({
  kind: 'task',
  id: 't-1',
  contextId: 'c-1',
  status: { state },
  ...overrides,
})
const composeMessage = (text: string) => ({
  kind: 'message',
  messageId: 'm',
  role: 'agent',
  parts: [{ kind: 'text', text }],
})

describe('an agent that speaks 0.3', () => {
  test('gets calls in its own format', async () => {
    peer.answerRpc(() => wrap(composeMessage('hi')))
    const file = { kind: 'inline', data_base64: 'AQID' } as const
    const parts = [text('hello') as never, { kind: 'file', mime: 'a/b', name: 'x', bytes_ref: file } as never]
    const answer = await peer.client.call(cardUrl, parts, { callerName: 'desk', contextId: 'c-1' })
    expect(answer).toMatchObject({ parts: [text('hi')], status: 'completed' })
    const [request] = rpcs()
    expect(request?.headers).toMatchObject({ 'a2a-version': '0.3', authorization: expect.stringMatching(/^Bearer /) })
    expect(request?.body).toMatchObject({
      method: 'message/send',
      params: {
        configuration: { blocking: true },
        message: {
          kind: 'message',
          role: 'user',
          contextId: 'c-1',
          parts: [
            { kind: 'text', text: 'hello' },
            { kind: 'file', file: { bytes: 'AQID', mimeType: 'a/b', name: 'x' } },
          ],
          metadata: { mentionable: { agent_chain: { hop: 1, max_hops: 5, is_final: false } } },
        },
      },
    })
  })

  test('gets requests for its task until the task ends', async () => {
    const artifacts = [
      {
        artifactId: 'a',
        parts: [
          { kind: 'text', text: 'done' },
          { kind: 'data', data: { a: 1 } },
        ],
      },
    ]
    peer.answerRpc(({ body }) =>
      body.method === 'tasks/get' ? wrap(task('completed', { artifacts })) : wrap(task('working')),
    )
    const answer = await peer.call()
    expect(answer).toMatchObject({
      parts: [text('done'), { kind: 'artifact', artifact_type: 'data' }],
      status: 'completed',
      taskId: 't-1',
      contextId: 'c-1',
    })
    expect(rpcs().map(({ body }) => body.method)).toEqual(['message/send', 'tasks/get'])
  })

  test('streams, and asks back', async () => {
    peer.card.capabilities = { streaming: true }
    const ids = { taskId: 't-1', contextId: 'c-1' }
    const events = [
      task('submitted'),
      { kind: 'artifact-update', ...ids, artifact: { artifactId: 'a', parts: [{ kind: 'text', text: 'so ' }] } },
      {
        kind: 'artifact-update',
        ...ids,
        append: true,
        artifact: { artifactId: 'a', parts: [{ kind: 'text', text: 'far' }] },
      },
      {
        kind: 'status-update',
        ...ids,
        final: true,
        status: { state: 'input-required', message: composeMessage('which? ') },
      },
    ]
    const stream = events.map(result => `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\r\n\r\n`).join('')
    peer.answerRpc(() => ({ headers: { 'content-type': 'text/event-stream' }, text: stream }))
    expect(await peer.call()).toMatchObject({
      parts: [text('so far'), text('which? ')],
      status: 'input_required',
      taskId: 't-1',
    })
    expect(rpcs()[0]?.body.method).toBe('message/stream')
  })

  test.each<[string, object]>([
    ['unknown state', task('unknown')],
    ['no kind', { id: 't-1', status: { state: 'completed' } }],
    ['a part of no kind', { ...composeMessage(''), parts: [{ text: 'x' }] }],
    ['a kind that objects have', { kind: 'constructor' }],
  ])('fails with %s (A2A-C09)', async (_, result) => {
    peer.answerRpc(() => wrap(result))
    await expect(peer.call()).rejects.toThrow('Cannot call agent: its answer is not valid')
  })

  test('gets no call in 0.3 if it also speaks 1.0', async () => {
    peer.card.supportedInterfaces = [
      { url: 'https://peer.test/old', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
      { url: 'https://peer.test/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ]
    await peer.call()
    expect(rpcs()[0]?.body.method).toBe('SendMessage')
    peer.card.supportedInterfaces.pop()
    peer.system.advance(10 * 60_000)
    await expect(peer.call()).rejects.toThrow('it answered with 404')
    expect(peer.requests.at(-1)).toMatchObject({ path: '/old', body: { method: 'message/send' } })
  })

  test('gets no call when its signed card has a changed URL (A2A-C06)', async () => {
    await peer.sign()
    peer.answerRpc(() => wrap(composeMessage('hi')))
    expect((await peer.call()).source.signedBy).toBe('peer-key')
    peer.card = { ...peer.card, url: 'https://peer.test/other' }
    peer.system.advance(10 * 60_000)
    await expect(peer.call()).rejects.toThrow('Cannot call agent: no signature of its card is valid')
  })
})

function wrap(result: object) {
  return { json: { jsonrpc: '2.0', id: 1, result } }
}
