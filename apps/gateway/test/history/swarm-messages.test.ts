import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { operatorToken } from '../setup/gateway.ts'
import type { JsonAnswer, WebGateway } from '../setup/web-gateway.ts'
import { jpeg, openWebGateway, uniqueName } from '../setup/web-gateway.ts'

// These tests import and export messages of a swarm over HTTP.

let web: WebGateway

beforeAll(async () => {
  web = await openWebGateway()
})
afterAll(() => web.close())

const owner = 'web:["https://agents.test","ann"]'

async function exchange(thread: string, format: string, messages?: readonly object[]) {
  const query = new URLSearchParams({ owner, thread, format })
  const init = messages && { method: 'POST', body: JSON.stringify({ messages }) }
  const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
  const response = await fetch(`${web.gateway.url()}/operator/api/transcript?${query}`, { ...init, headers })
  return { status: response.status, json: (await response.json()) as JsonAnswer }
}

/** Returns the messages unchanged, except for the members that name their entries. */
async function writtenOut(thread: string): Promise<readonly JsonAnswer[]> {
  const { json } = await exchange(thread, 'swarm')
  return json.messages.map(({ payload: { gateway: _, ...payload }, ...message }: JsonAnswer) => {
    return Object.keys(payload).length > 0 ? { ...message, payload } : message
  })
}

const row = { role: 'user', agentName: 'triage', content: 'hi', mode: 'user' }
const call = (args: object, id = 'c1') => ({ id, type: 'function', function: { name: 'refund', arguments: args } })

describe('the rows of a swarm', () => {
  test('come back field by field, with arguments as objects and images byte for byte (W-01, W-02, W-05, W-06)', async () => {
    const thread = `copy:${uniqueName('swarm')}`
    const rows = [
      { ...row, images: [jpeg.toString('base64')], payload: { image_id: 'i1' } },
      {
        ...row,
        role: 'assistant',
        agentName: 'refunds',
        mode: 'tool',
        content: '',
        tool_calls: [call({ a: { b: [null] } })],
      },
      { ...row, role: 'tool', agentName: 'refunds', mode: 'tool', content: 'done', tool_call_id: 'c1' },
      ...['resque', 'flush', 'developer', 'system'].map(role => ({ ...row, role, mode: 'tool' })),
    ]
    expect((await exchange(thread, 'swarm', rows)).json).toMatchObject({ added: rows.length })
    expect(await writtenOut(thread)).toEqual(rows)
    const { json: agui } = await exchange(thread, 'agui')
    const callMessage = agui.messages.find(({ toolCalls }: JsonAnswer) => toolCalls)
    expect(callMessage.toolCalls[0].function.arguments).toBe('{"a":{"b":[null]}}')
    const [picture] = agui.messages
    expect(picture.content[1].source).toEqual({ type: 'data', value: jpeg.toString('base64'), mimeType: 'image/jpeg' })
    const { json: store } = await exchange(thread, 'store')
    expect(store.messages[1]).toMatchObject({ type: 'action', tool: 'refund', args: { a: { b: [null] } } })
    const { json: envelopes } = await exchange(thread, 'envelope')
    expect(envelopes.messages[1].payload).toEqual({ tool_name: 'refund', parameters: { a: { b: [null] } } })
  })

  test('keep null, absent and object payloads distinct, and importing them again adds nothing (W-04)', async () => {
    const thread = `copy:${uniqueName('swarm')}`
    const rows = [{ ...row, payload: null }, row, { ...row, payload: {} }]
    await exchange(thread, 'swarm', rows)
    const { json } = await exchange(thread, 'jsonl')
    const diffs = json.messages.map(({ ext }: JsonAnswer) => JSON.stringify(ext.swarm))
    expect(new Set(diffs).size).toBe(3)
    const { json: exported } = await exchange(thread, 'swarm')
    expect((await exchange(thread, 'swarm', exported.messages)).json.added).toBe(0)
    expect((await exchange(thread, 'jsonl')).json).toEqual(json)
  })

  test.each<[string, object, string]>([
    ['W-02: a role there is not', { role: 'wizard' }, 'role:'],
    ['W-03: another mode', { mode: 'other' }, 'mode:'],
    ['W-03: another type of call', { tool_calls: [{ ...call({}), type: 'other' }] }, 'tool_calls.0.type:'],
    [
      'W-06: arguments as text',
      { tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }] },
      'must be a JSON object',
    ],
    ['W-07: two calls of one id', { tool_calls: [call({}), call({})] }, 'tool_calls: two calls have one id'],
  ])('the gateway refuses %s, names its position, and stores nothing', async (_, change, label) => {
    const thread = `copy:${uniqueName('swarm')}`
    const { status, json } = await exchange(thread, 'swarm', [row, { ...row, ...change }])
    expect([status, json.code]).toEqual([400, 'malformed'])
    expect(json.detail).toContain('Cannot read swarm message: ')
    expect(json.detail).toContain(label)
    expect((await exchange(thread, 'swarm')).json.messages ?? []).toEqual([])
  })
})
