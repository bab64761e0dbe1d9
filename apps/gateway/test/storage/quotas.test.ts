import { hash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, gatewayOrigin, openTestGateway } from '../setup/gateway.ts'
import { listTraces } from '../setup/traces.ts'

const tokens = { ann: 'token-of-ann-for-the-tests', bob: 'token-of-bob-for-the-tests' } as const
const limits = { threads_per_owner: 4, entries_per_owner: 12, bytes_per_owner: 40_000 }

let gateway: TestGateway
/** The lead of the gateway's clock over the machine's, so that no test waits for the end of a period or misses it. */
let clockLeadMs = 0

beforeAll(async () => {
  const { now } = Date
  vi.spyOn(Date, 'now').mockImplementation(() => now() + clockLeadMs)
  const auth = { tokens: Object.entries(tokens).map(([name, token]) => ({ name, sha256: hash('sha256', token) })) }
  const agents = { chat: { use: '../agents/chat/chatter.ts' } }
  gateway = await openTestGateway(() => ({ web: { enabled: true, auth, limits }, agents, default_agent: 'chat' }))
})
afterAll(() => gateway.close())

type Person = keyof typeof tokens

async function requestAs(method: string, path: string, body?: object, as: Person = 'ann') {
  const headers = { authorization: `Bearer ${tokens[as]}`, 'content-type': 'application/json' }
  const response = await fetch(`${gateway.url()}${path}`, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json')
  return { status: response.status, json: (isJson ? JSON.parse(text) : {}) as Record<string, unknown> }
}

const beginRun = (threadId: string, runId: string, content = 'hello') =>
  requestAs('POST', '/api/v1/agent/runs', { threadId, runId, messages: [{ id: `m-${runId}`, role: 'user', content }] })

const storeMessages = (location: string, count: number, content = 'said') =>
  requestAs('POST', `/v1/store/${encodeURIComponent(location)}/messages`, {
    messages: Array.from({ length: count }, () => ({ type: 'user_message', content })),
  })

async function readUsage(as: Person = 'ann') {
  return (await requestAs('GET', '/v1/usage', undefined, as)).json as {
    used: Record<'threads' | 'entries' | 'bytes', number>
    most: object
  }
}

const tooMany = (limitText: string) => ({
  status: 413,
  json: { code: 'too_large', detail: `Cannot store: with it you would have more than ${limitText}` },
})

describe('the quota of one owner', () => {
  test('covers sessions, locations and chats together, separately for each owner', async () => {
    expect((await beginRun('t-1', 'r-1')).status).toBe(200)
    expect((await storeMessages('loc-1', 1)).status).toBe(200)
    const { json: session } = await requestAs('POST', '/v1/sessions', { agent_slug: 'a' })
    await requestAs('POST', '/v1/sessions', { agent_slug: 'b' })
    expect((await readUsage()).used).toMatchObject({ threads: 4, entries: 2 })
    expect(await requestAs('POST', '/v1/sessions', { agent_slug: 'c' })).toMatchObject(tooMany('4 threads'))
    expect(await storeMessages('loc-2', 1)).toMatchObject(tooMany('4 threads'))
    expect(await beginRun('t-2', 'r-2')).toMatchObject(tooMany('4 threads'))
    expect((await requestAs('GET', '/v1/sessions')).json.sessions).toHaveLength(2)
    expect((await requestAs('POST', '/v1/sessions', { agent_slug: 'c' }, 'bob')).status).toBe(200)
    expect((await requestAs('GET', '/api/v1/agent/history?threadId=t-1')).status).toBe(200)
    await requestAs('DELETE', `/v1/sessions/${session.session_id}`)
    expect((await storeMessages('loc-2', 1)).status).toBe(200)
  })

  test('refuses a list with too many entries completely, and then accepts a shorter list', async () => {
    const { used } = await readUsage()
    expect(used.entries).toBe(3)
    expect(await storeMessages('loc-2', 10)).toMatchObject(tooMany('12 entries'))
    expect((await readUsage()).used).toEqual(used)
    expect((await storeMessages('loc-2', 9)).status).toBe(200)
    expect(await beginRun('t-1', 'r-3')).toMatchObject(tooMany('12 entries'))
    expect((await requestAs('DELETE', '/v1/store/loc-2')).json).toEqual({ deleted: true })
    expect((await beginRun('t-1', 'r-3')).status).toBe(200)
    expect((await readUsage()).used.entries).toBe(3)
  })

  test('counts the bytes of sessions, stores and chats together', async () => {
    expect((await storeMessages('loc-1', 1, 'x'.repeat(30_000))).status).toBe(200)
    expect(await storeMessages('loc-1', 1, 'x'.repeat(10_000))).toMatchObject(tooMany('40000 bytes'))
    expect((await beginRun('t-1', 'r-4', 'x'.repeat(20_000))).status).toBe(200)
    expect(await beginRun('t-1', 'r-5', 'y')).toMatchObject(tooMany('40000 bytes'))
    expect((await requestAs('DELETE', '/v1/store/loc-1')).status).toBe(200)
    expect((await requestAs('DELETE', '/api/v1/agent/threads/t-1')).json).toEqual({ deleted: true })
    expect((await readUsage()).used).toMatchObject({ threads: 1, entries: 0, bytes: 0 })
  })

  test('counts repeated messages of a client once', async () => {
    const userMessage = (id: string, content: string) => ({ id, role: 'user', content })
    const first = userMessage('m-1', 'x'.repeat(4_000))
    const runWith = (runId: string, messages: readonly object[]) =>
      requestAs('POST', '/api/v1/agent/runs', { threadId: 't-2', runId, messages })
    expect((await runWith('r-6', [first])).status).toBe(200)
    const { used } = await readUsage()
    expect((await runWith('r-7', [first, userMessage('m-2', 'more')])).status).toBe(200)
    expect((await readUsage()).used.bytes - used.bytes).toBeLessThan(2_000)
    expect((await requestAs('DELETE', '/api/v1/agent/threads/t-2')).json).toEqual({ deleted: true })
  })

  test('limits the length of a session’s description', async () => {
    const metadata = { note: 'x'.repeat(17_000) }
    expect(await requestAs('POST', '/v1/sessions', { metadata })).toMatchObject({
      status: 413,
      json: { detail: 'Cannot read body: metadata is larger than 16384 bytes' },
    })
  })

  test('shrinks when the owner reads or deletes an ended session', async () => {
    const expires_at = new Date(Date.now() + 3_600_000).toISOString()
    const { json: session } = await requestAs('POST', '/v1/sessions', { agent_slug: 'short', expires_at })
    const { json: otherSession } = await requestAs('POST', '/v1/sessions', { agent_slug: 'short 2', expires_at })
    const threadsBefore = (await readUsage()).used.threads ?? 0
    clockLeadMs = 3_600_001
    onTestFinished(() => {
      clockLeadMs = 0
    })
    await requestAs('DELETE', `/v1/sessions/${session.session_id}`)
    expect((await readUsage()).used.threads).toBe(threadsBefore - 1)
    const { json } = await requestAs('GET', '/v1/sessions')
    expect((json.sessions as readonly { session_id: string }[]).map(session => session.session_id)).not.toContain(
      otherSession.session_id,
    )
    expect((await readUsage()).used.threads).toBe(threadsBefore - 2)
  })
})

describe('a chat that its owner deletes', () => {
  const deleteSessions = async () => {
    const { json } = await requestAs('GET', '/v1/sessions')
    for (const { session_id } of json.sessions as readonly { session_id: string }[])
      await requestAs('DELETE', `/v1/sessions/${session_id}`)
  }
  const upload = async (threadId: string, text: string) => {
    const form = new FormData()
    form.set('file', new File([text], 'a.txt'))
    form.set('threadId', threadId)
    const headers = { authorization: `Bearer ${tokens.ann}` }
    const response = await fetch(`${gateway.url()}/api/v1/agent/attachments`, { method: 'POST', headers, body: form })
    return ((await response.json()) as { url: string }).url
  }
  const isThere = async (url: string) => (await fetch(url.replace(gatewayOrigin, gateway.url()))).status === 200
  const runWithFile = (url: string, threadId: string, runId: string) =>
    requestAs('POST', '/api/v1/agent/runs', {
      threadId,
      runId,
      messages: [{ id: `m-${runId}`, role: 'user', content: [{ type: 'binary', mimeType: 'text/plain', url }] }],
    })

  test('loses its text, and the files that only it refers to', async () => {
    await deleteSessions()
    const [alone, shared, unused] = [
      await upload('t/5', 'only here'),
      await upload('t/5', 'here and there'),
      await upload('t/5', 'nowhere'),
    ]
    await runWithFile(alone, 't/5', 'f-1')
    await runWithFile(shared, 't/5', 'f-2')
    await runWithFile(shared, 't-6', 'f-3')
    expect((await requestAs('DELETE', `/api/v1/agent/threads/${encodeURIComponent('t/5')}`)).json).toEqual({
      deleted: true,
    })
    expect([await isThere(alone), await isThere(shared), await isThere(unused)]).toEqual([false, true, true])
    expect((await requestAs('GET', '/api/v1/agent/history?threadId=t%2F5')).status).toBe(404)
    const messageIds = (await gateway.messages()).map(({ id }) => id)
    expect(messageIds).toContain('m-f-3')
    expect(messageIds.filter(id => id === 'm-f-1' || id === 'm-f-2')).toEqual([])
    await requestAs('DELETE', '/api/v1/agents/chat/threads/t-6')
    expect(await isThere(shared)).toBe(false)
    expect((await readUsage()).used).toEqual({ threads: 0, entries: 0, bytes: 0 })
  })

  test('must belong to its owner, and must have begun in the chat', async () => {
    await beginRun('t-7', 'r-17')
    const foreignDeletion = await requestAs('DELETE', '/api/v1/agent/threads/t-7', undefined, 'bob')
    expect(foreignDeletion).toMatchObject({ status: 404, json: { code: 'no_recipient' } })
    expect(await requestAs('DELETE', '/v1/store/t-7', undefined, 'bob')).toMatchObject({ status: 404 })
    expect((await requestAs('GET', '/api/v1/agent/history?threadId=t-7')).status).toBe(200)
    expect(await requestAs('DELETE', '/api/v1/agent/threads/activitypub:1')).toMatchObject({
      status: 403,
      json: { detail: 'Cannot delete thread: it began elsewhere, and others have it, too' },
    })
    expect((await fetch(`${gateway.url()}/api/v1/agent/threads/t-7`, { method: 'DELETE' })).status).toBe(401)
  })

  test('cancels its running run, and leaves nothing of it', async () => {
    const pendingRun = beginRun('t-8', 'r-19', 'wait')
    await eventually(async () => (await readUsage()).used.entries === 2)
    await requestAs('DELETE', '/api/v1/agent/threads/t-8')
    expect((await pendingRun).status).toBe(200)
    expect((await requestAs('GET', '/api/v1/agent/history?threadId=t-8')).status).toBe(404)
    expect((await readUsage()).used.entries).toBe(1)
    expect(listTraces(gateway.dataDir, 'm-r-19')).toEqual([])
  })

  test('may begin again under the same name', async () => {
    await requestAs('DELETE', '/api/v1/agent/threads/t-7')
    await beginRun('t-7', 'r-8', 'anew')
    const { json } = await requestAs('GET', '/api/v1/agent/history?threadId=t-7')
    expect((json.messages as readonly { content: string }[])[0]?.content).toBe('anew')
    expect(json.messages).toHaveLength(2)
  })
})
