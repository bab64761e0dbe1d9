import type { NormalizedMessage } from '@postern/message'
import type { Agent } from '@postern/pipeline'
import { afterEach, describe, expect, test } from 'vitest'
import { createEventLog } from '../../src/streams/event-log.ts'
import type { A2aTestGateway, A2aTestGatewayOptions } from '../setup/gateway.ts'
import { openA2aGateway } from '../setup/gateway.ts'
import { openStream } from '../setup/sse.ts'

let gateway: A2aTestGateway
afterEach(() => gateway?.close())

async function open(options: A2aTestGatewayOptions = {}): Promise<A2aTestGateway> {
  gateway = await openA2aGateway(options)
  return gateway
}

describe('the gateway refuses the input of an attacker:', () => {
  test.each(['image/png\r\n\r\n;x', 'image/png\n;x=1', 'image/png\u00a0;x', 'image/png;x\r\ny: z'])(
    'the media type %j, whose blank would end a header',
    async mediaType => {
      await open({ runsWorker: false })
      const { body } = await gateway.sendText('', { parts: [{ raw: 'AAAA', mediaType }] })
      expect(body.error).toMatchObject({ code: -32602, message: expect.stringContaining('must be a media type') })
    },
  )

  test.each(['contextId', 'messageId'])('a lone surrogate in %s, which a store would change', async name => {
    await open({ runsWorker: false })
    const { body } = await gateway.sendText('x', { [name]: '\ud800' })
    expect(body.error?.message).toBe(`Cannot SendMessage: message.${name} must be well-formed Unicode`)
  })

  test.each(['/a2a', '/a2a/rest/message:send'])('two versions in the query of %s', async path => {
    await open({ runsWorker: false })
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] }
    const body = path === '/a2a' ? { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } } : { message }
    const options = { path: `${path}?A2A-Version=1.0&A2A-Version=0.3`, headers: { 'a2a-version': '' } }
    expect((await gateway.post(JSON.stringify(body), options)).text).toContain('VERSION_NOT_SUPPORTED')
  })
})

describe('a push notification configuration inside a message', () => {
  const secret = {
    url: 'https://example.com/x',
    token: 's3cr3t-1',
    authentication: { scheme: 'X', credentials: 's3cr3t-2' },
  }

  test.each(['taskPushNotificationConfig', 'task_push_notification_config'])(
    '(%s) needs the scope of its own operation, on each binding',
    async name => {
      await open({ runsWorker: false })
      const token = await gateway.issuer.sign({ scope: 'a2a:message.send a2a:message.stream' })
      const configuration = { [name]: { url: 'https://example.com/x' } }
      const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] }
      const answers = [
        await gateway.rpc('SendMessage', { message, configuration }, { token }),
        await gateway.rpc('SendStreamingMessage', { message, configuration }, { token }),
        await gateway.post(JSON.stringify({ message, configuration }), { token, path: '/a2a/rest/message:send' }),
      ]
      expect(answers.map(({ status }) => status)).toEqual([403, 403, 403])
      expect(answers[0]?.headers.get('www-authenticate')).toContain('scope="a2a:task.push-config"')
    },
  )

  test.each([{ returnImmediately: true }, { taskPushNotificationConfig: null, returnImmediately: true }])(
    'has no effect on another configuration (%j), which needs no own scope',
    async configuration => {
      await open({ runsWorker: false })
      const token = await gateway.issuer.sign({ scope: 'a2a:message.send' })
      expect((await gateway.sendText('x', {}, { token, configuration })).status).toBe(200)
    },
  )

  test('also has its rules for clients of 0.3', async () => {
    await open({ runsWorker: false })
    const token = await gateway.issuer.sign({ scope: 'a2a:message.send' })
    const message = { messageId: 'm', role: 'user', kind: 'message', parts: [{ kind: 'text', text: 'x' }] }
    const params = { message, configuration: { pushNotificationConfig: { url: 'https://example.com/x' } } }
    const { status } = await gateway.rpc('message/send', params, { token, headers: { 'a2a-version': '' } })
    expect(status).toBe(403)
  })

  test.each(['/a2a', '/a2a/rest/message:send'])(
    'leaves no credential in the stored request to %s, under any name of its member',
    async path => {
      await open()
      const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] }
      const params = { message, configuration: { task_push_notification_config: secret } }
      const body = path === '/a2a' ? { jsonrpc: '2.0', id: 1, method: 'SendMessage', params } : params
      expect((await gateway.post(JSON.stringify(body), { path })).status).toBe(200)
      expect(gateway.receivedMessages).toHaveLength(1)
      expect(JSON.stringify(gateway.receivedMessages[0]?.raw)).not.toContain('s3cr3t')
    },
  )
})

describe('large answers', () => {
  const repeat: Agent = {
    handle: ({ parts }: NormalizedMessage) => ({ parts: [...parts], status: 'completed' }),
  }

  test('have pages that end before they grow too large and together contain all tasks', async () => {
    await open({ agents: { repeat } })
    const text = 'x'.repeat(3_000_000)
    for (let at = 0; at < 7; at += 1) await gateway.sendText(text)
    const taskIds: string[] = []
    let pageToken = ''
    do {
      const { body, text: answer } = await gateway.rpc('ListTasks', {
        includeArtifacts: true,
        historyLength: 10,
        pageToken,
      })
      expect(answer.length).toBeLessThan(24_000_000)
      expect(body.result.totalSize).toBe(7)
      taskIds.push(...body.result.tasks.map(({ id }: { id: string }) => id))
      pageToken = body.result.nextPageToken
    } while (pageToken)
    expect([taskIds.length, new Set(taskIds).size]).toEqual([7, 7])
  })

  test('do not wait in memory for a caller who may return', () => {
    const eventLog = createEventLog('aa', () => true)
    const status = { state: 'TASK_STATE_WORKING', timestamp: '' }
    const small = { statusUpdate: { taskId: 't', contextId: 'c', status } }
    const artifact = { artifactId: 'a', parts: [{ raw: 'A'.repeat(300_000) }] }
    eventLog.add(small)
    const large = eventLog.add({ artifactUpdate: { taskId: 't', contextId: 'c', artifact } })
    expect(eventLog.eventsAfter('aa-1')).toBeUndefined()
    eventLog.add(small)
    expect(eventLog.eventsAfter(large.id)).toHaveLength(1)
  })
})

test.each(['/a2a', '/a2a/rest'])(
  'the gateway refuses only a caller who requests large answers at %s without reading them',
  async path => {
    await open()
    const { id } = (await gateway.sendText('x'.repeat(3_900_000))).body.result.task
    const other = await gateway.issuer.sign({ sub: 'bob' })
    const ask = async (token = gateway.token) => {
      const headers = { 'content-type': 'application/json', 'a2a-version': '1.0', authorization: `Bearer ${token}` }
      const rpc = {
        method: 'POST',
        headers,
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id } }),
      }
      const init = path === '/a2a' ? rpc : { headers }
      return gateway.channel.endpoint.routes.request(path === '/a2a' ? path : `${path}/tasks/${id}`, init)
    }
    const responses: Response[] = []
    for (let at = 0; at < 20; at += 1) responses.push(await ask())
    const refused = responses.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThan(3)
    expect([refused[0]?.headers.get('retry-after'), await refused[0]?.text()]).toEqual([
      '5',
      expect.stringContaining('RATE_LIMITED'),
    ])
    expect((await ask(other)).status).not.toBe(429)
    await Promise.all(responses.filter(({ bodyUsed }) => !bodyUsed).map(({ body }) => body?.cancel()))
    const again = await ask()
    expect([again.status, (await again.text()).length]).toEqual([200, Number(again.headers.get('content-length'))])
  },
)

test('the first event of a subscription has a bounded part of the history, for any number of listeners', async () => {
  const asks: Agent = {
    handle: () => ({ status: 'input_required', parts: [{ kind: 'text', mime: 'text/plain', content: '?' }] }),
  }
  await open({ agents: { asks } })
  const { id } = (await gateway.sendText('x'.repeat(400_000))).body.result.task
  for (const text of ['y'.repeat(400_000), 'last']) await gateway.sendText(text, { taskId: id })
  const stream = await openStream(gateway, 'SubscribeToTask', { id })
  const { task } = (await stream.next())?.data ?? {}
  const firstCharacters = task.history.map(({ parts }: { parts: { text: string }[] }) => parts[0]?.text[0])
  expect(firstCharacters).toEqual(['?', 'y', '?', 'l'])
  await stream.abort()
})
