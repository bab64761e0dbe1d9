import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { openTestGateway } from '../setup/gateway.ts'

const run = promisify(execFile)
const tokens = { ann: 'token-of-ann-for-the-tests', bob: 'token-of-bob-for-the-tests' } as const

let gateway: TestGateway

beforeAll(async () => {
  const auth = { tokens: Object.entries(tokens).map(([name, token]) => ({ name, sha256: hash('sha256', token) })) }
  gateway = await openTestGateway(() => ({ web: { enabled: true, auth } }))
})
afterAll(() => gateway.close())

async function requestAs(method: string, path: string, body?: object, person: keyof typeof tokens = 'ann') {
  const headers = { authorization: `Bearer ${tokens[person]}`, 'content-type': 'application/json' }
  const response = await fetch(`${gateway.url()}${path}`, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: response.status, json: (await response.json()) as Record<string, unknown> }
}

test('the Python client runs the published example and its own tests over HTTP against a gateway (S-01…S-30)', async () => {
  const cwd = resolve(import.meta.dirname, '../../../../clients/python')
  const env = { ...process.env, POSTERN_URL: gateway.url(), POSTERN_TOKEN: tokens.ann, PYTHONDONTWRITEBYTECODE: '1' }
  const { stderr } = await run('python3', ['-m', 'unittest', 'discover', '-s', 'tests'], { cwd, env })
  expect(stderr).toMatch(/Ran \d+ tests[\s\S]*\nOK\n$/)
}, 60_000)

/** The members that each type must have, and those of its own that it may have. */
const catalogue: Readonly<Record<string, readonly [group: string, required: string, optional?: string]>> = {
  user_message: ['conversation', 'content'],
  assistant_message: ['conversation', 'content'],
  task: ['trace', 'content'],
  action: ['trace', 'tool args', 'step script'],
  observation: ['trace', 'content', 'step script'],
  error: ['trace', 'content', 'error_type'],
  final: ['completion', 'content'],
  synthesis: ['completion', 'content from_manager', 'phase_id'],
  strategic_plan: ['planning', 'content'],
  suggested_plan: ['planning', 'content'],
  script_plan: ['planning', 'content'],
  script_instruction: ['planning', 'content'],
  delegation: ['delegation', 'worker task'],
  global_observation: ['global', 'content', 'from_worker summary parallel'],
  director_context: ['context', 'content'],
  injected_context: ['context', 'content'],
}

test('the gateway serves the catalogue of types as data, each with group, members and builder (S-30)', async () => {
  const { json } = await requestAs('GET', '/v1/store-types')
  const types = Object.entries(json.types as Record<string, Record<string, unknown>>)
  const dropSharedFields = (fields: unknown) =>
    (fields as string[]).filter(name => !['timestamp', 'turn_id', 'agent_key'].includes(name))
  const describedTypes = types.map(([type, { group, required_fields, optional_fields }]) => {
    const optional = dropSharedFields(optional_fields).join(' ')
    return [type, [group, (required_fields as string[]).join(' '), ...(optional ? [optional] : [])]]
  })
  expect(Object.fromEntries(describedTypes)).toEqual(catalogue)
  for (const [, info] of types) {
    expect(info).toMatchObject({
      builder: expect.stringMatching(/^create\w+$/),
      description: expect.stringMatching(/\w/),
    })
  }
})

test('the gateway refuses a list with an incomplete message, names the missing member, and stores nothing (S-03)', async () => {
  const path = '/v1/store/required'
  for (const [type, [, required]] of Object.entries(catalogue)) {
    const members = required.split(' ')
    for (const missingMember of members) {
      const remainingMembers = members
        .filter(name => name !== missingMember)
        .map(name => [name, name === 'args' ? {} : 'x'])
      const messages = [
        { type: 'task', content: 'fine' },
        { type, ...Object.fromEntries(remainingMembers) },
      ]
      const { status, json } = await requestAs('POST', `${path}/messages`, { messages, agent_key: 'a' })
      const detail = `Cannot read message: ${missingMember}: missing, a message of type ${type} requires it`
      expect([status, json.code, json.detail]).toEqual([400, 'malformed', detail])
    }
  }
  expect((await requestAs('GET', `${path}/agents/a`)).json).toEqual({ messages: [] })
})

test('the store accepts 500 messages at once, but not 501 (S-03)', async () => {
  const path = '/v1/store/many'
  const messages = Array.from({ length: 501 }, (_, index) => ({ type: 'task', content: `${index}` }))
  const { status, json } = await requestAs('POST', `${path}/messages`, { messages, agent_key: 'a' })
  expect([status, json.code, json.detail]).toEqual([413, 'too_large', 'Cannot store messages: more than 500 at once'])
  expect((await requestAs('GET', `${path}/agents/a`)).json).toEqual({ messages: [] })
  expect((await requestAs('POST', `${path}/messages`, { messages: messages.slice(1), agent_key: 'a' })).status).toBe(
    200,
  )
})

test('the gateway refuses an unknown scope of limits (S-13)', async () => {
  const { status, json } = await requestAs('GET', '/v1/store/x/team?agent_key=a&limit=1&limit_scope=each')
  expect([status, json.detail]).toEqual([400, 'Cannot read query: limit_scope must be total or per_agent'])
})

describe('a session of envelopes over HTTP', () => {
  const open = async () => (await requestAs('POST', '/v1/sessions', { agent_slug: 'desk', title: 'First' })).json

  test('begins once for a repeated first message, and keeps its title when a new list replaces the old one (E-34, E-36)', async () => {
    const session = await open()
    expect((await open()).session_id).toBe(session.session_id)
    const path = `/v1/sessions/${session.session_id}`
    const call1 = {
      role: 'assistant',
      content: '',
      metadata: { type: 'tool_call', tool_name: 'ls', parameters: [], turn: 1 },
    }
    const firstMessage = await requestAs('PUT', path, {
      messages: [{ role: 'user', content: 'hi' }, call1],
      model: 'm',
    })
    expect(firstMessage.json.messages).toMatchObject([
      { schema: 'agents-api.message', version: 1, type: 'text', role: 'user', content: 'hi' },
      { type: 'tool_call', payload: { tool_name: 'ls', turn: 1 } },
    ])
    const secondMessage = await requestAs('PUT', path, { messages: [{ role: 'user', content: 'only this' }] })
    expect(secondMessage.json).toMatchObject({ title: 'First', model: 'm' })
    expect((await requestAs('GET', path)).json.messages).toMatchObject([{ content: 'only this' }])
    expect((await open()).session_id).not.toBe(session.session_id)
  })

  test('returns findings in a list with their positions, also for earlier messages (E-13, E-16)', async () => {
    const path = `/v1/sessions/${(await open()).session_id}`
    const messages = [
      { role: 'user', content: 'plain' },
      { schema: 'agents-api.message', type: 'text', role: 'user', content: 'no version' },
      { schema: 'other', version: 1, type: 'text', role: 'user', content: 'another schema' },
    ]
    const expectedFindings = [
      { code: 'version_missing', index: 1 },
      { code: 'schema_unknown', index: 2 },
    ]
    const firstMessage = await requestAs('PUT', path, { messages })
    expect([firstMessage.status, firstMessage.json.findings]).toMatchObject([200, expectedFindings])
    expect((await requestAs('PUT', path, { messages })).json.findings).toEqual(firstMessage.json.findings)
    const messagesWithForeign = [
      ...messages,
      { schema: 'other', version: 1, type: 'text', role: 'user', content: 'one more' },
    ]
    expect((await requestAs('PUT', path, { messages: messagesWithForeign })).json.findings).toMatchObject([
      ...expectedFindings,
      { code: 'schema_unknown', index: 3 },
    ])
    const { messages: storedMessages } = (await requestAs('GET', path)).json
    expect((await requestAs('PUT', path, { messages: storedMessages })).json.findings).toEqual([])
  })

  test('belongs to the caller even if the body names another owner, and the deletion of a missing session succeeds (E-37)', async () => {
    const session = await open()
    const path = `/v1/sessions/${session.session_id}`
    const foreign = await requestAs('GET', path, undefined, 'bob')
    expect(foreign).toEqual(
      await requestAs('GET', '/v1/sessions/00000000-0000-4000-8000-000000000000', undefined, 'bob'),
    )
    expect(foreign.status).toBe(404)
    const claimed = await requestAs('POST', '/v1/sessions', { owner_type: 'user', owner_key: 'ann' }, 'bob')
    expect([claimed.status, claimed.json.detail]).toEqual([
      403,
      'Cannot use session: conversation_session_owner_forbidden',
    ])
    expect((await requestAs('DELETE', path, undefined, 'bob')).json).toEqual({ deleted: true })
    expect((await requestAs('GET', path)).status).toBe(200)
    expect((await requestAs('DELETE', path)).json).toEqual({ deleted: true })
    expect((await requestAs('GET', path)).status).toBe(404)
  })

  test('refuses another writer while one caller holds the lock, and ignores a stale token (E-35)', async () => {
    const path = `/v1/sessions/${(await open()).session_id}`
    const { json: lock } = await requestAs('POST', `${path}/lock`, { ttl: 60 })
    expect((await requestAs('POST', `${path}/lock`, { ttl: 60 })).json).toEqual({ token: null })
    const refusal = await requestAs('PUT', path, { messages: [] })
    expect([refusal.status, refusal.json.detail]).toEqual([503, 'Cannot write thread: transcript_lock_contention'])
    expect((await requestAs('PUT', path, { messages: [], token: lock.token })).status).toBe(200)
    expect((await requestAs('DELETE', `${path}/lock?token=stale`)).json).toEqual({ released: false })
    expect((await requestAs('DELETE', `${path}/lock?token=${lock.token}`)).json).toEqual({ released: true })
  })

  test('refuses an invalid envelope and stores nothing of the list (E-07, E-15)', async () => {
    const path = `/v1/sessions/${(await open()).session_id}`
    await requestAs('PUT', path, { messages: [{ role: 'user', content: 'kept' }] })
    const refusal = await requestAs('PUT', path, {
      messages: [
        { role: 'user', content: 'x' },
        { version: 2, type: 'text', payload: {} },
      ],
    })
    expect(refusal.status).toBe(400)
    expect(refusal.json.detail).toContain('invalid_ai_message_envelope: unsupported version')
    expect((await requestAs('GET', path)).json.messages).toMatchObject([{ content: 'kept' }])
  })

  test('appears in a list with the newest first, which refuses an invalid limit', async () => {
    const { json } = await requestAs('GET', '/v1/sessions?limit=1&include_messages=true')
    expect(json.sessions).toMatchObject([{ messages: [{ content: 'kept' }] }])
    const refusal = await requestAs('GET', '/v1/sessions?limit=500')
    expect([refusal.status, refusal.json.detail]).toEqual([400, 'Cannot list sessions: limit must be 1 to 100'])
  })
})
