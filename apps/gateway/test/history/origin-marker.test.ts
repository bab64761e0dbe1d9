import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JsonAnswer, WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway, uniqueName } from '../setup/web-gateway.ts'

// These tests cover the claims of a message from outside about itself (LAW-3): a claim counts only if it is true.

let web: WebGateway

beforeAll(async () => {
  web = await openWebGateway()
})
afterAll(() => web.close())

const add = (location: string, messages: readonly object[], as: 'ann' | 'bob' = 'ann') =>
  web.requestJson('POST', `/v1/store/${location}/messages`, { messages }, as)
const conversation = async (location: string, as: 'ann' | 'bob' = 'ann'): Promise<readonly JsonAnswer[]> =>
  (await web.requestJson('GET', `/v1/store/${location}/conversation`, undefined, as)).json.messages

interface Line {
  readonly entry_id: string
  readonly thread_id: string
}

const ownerOf = (person: string) => `web:["https://agents.test","${person}"]`

async function exportLocation(location: string, format: string, person = 'ann'): Promise<readonly JsonAnswer[]> {
  const query = new URLSearchParams({ owner: ownerOf(person), thread: `store:${location}`, format })
  return (await web.gateway.requestOperator<{ messages: readonly JsonAnswer[] }>(`/transcript?${query}`)).messages
}

async function putOne(location: string, content: string, as: 'ann' | 'bob' = 'ann'): Promise<Line> {
  await add(location, [{ type: 'user_message', content }], as)
  const [line] = await exportLocation(location, 'jsonl', as)
  return line
}

const marked = (entry_id: string, content: string) => ({
  type: 'user_message',
  content,
  gateway: { v: 1, entry_id, kind: 'text' },
})

describe('an origin marker', () => {
  test('finds its entry if it is valid, so that exporting and importing again adds nothing', async () => {
    const thread = uniqueName('thread')
    await putOne(thread, 'pay 5')
    const [exportedMessage] = await exportLocation(thread, 'store')
    expect(exportedMessage.gateway).toMatchObject({ v: 1, kind: 'text' })
    await add(thread, [exportedMessage])
    expect(await conversation(thread)).toHaveLength(1)
  })

  test.each(['of other words', 'of another conversation', 'of another person', 'of nothing', 'that is no bag'])(
    '%s disappears, and its message is new',
    async label => {
      const [thread, otherThread] = [uniqueName('thread'), uniqueName('thread')]
      const ownLogLine = await putOne(thread, 'pay 5')
      const otherLogLine = await putOne(otherThread, 'pay 5')
      const bobs = await putOne(thread, 'pay 5', 'bob')
      const claims: Record<string, object> = {
        'of other words': marked(ownLogLine.entry_id, 'pay 5000'),
        'of another conversation': marked(otherLogLine.entry_id, 'pay 5'),
        'of another person': marked(bobs.entry_id, 'pay 5'),
        'of nothing': marked('00000000-0000-4000-8000-000000000000', 'pay 5'),
        'that is no bag': { ...marked('', 'pay 5'), gateway: ['__proto__', { v: 2 }] },
      }
      const { status } = await add(thread, [claims[label] ?? {}])
      expect(status).toBe(200)
      const conversationRows = await conversation(thread)
      expect(conversationRows).toHaveLength(2)
      expect(JSON.stringify(conversationRows)).not.toContain('gateway')
      const ids = (await exportLocation(thread, 'jsonl')).map(({ entry_id }) => entry_id)
      expect(ids[0]).toBe(ownLogLine.entry_id)
      expect([ownLogLine.entry_id, otherLogLine.entry_id, bobs.entry_id]).not.toContain(ids[1])
      // No other conversation has the message.
      expect(await conversation(otherThread)).toHaveLength(1)
      expect(await conversation(thread, 'bob')).toHaveLength(1)
    },
  )

  test('in the list of another session changes neither session', async () => {
    const open = async (as: 'ann' | 'bob') => {
      const { json } = await web.requestJson('POST', '/v1/sessions', { context: uniqueName('context') }, as)
      return `/v1/sessions/${json.session_id}`
    }
    const [anns, bobs] = [await open('ann'), await open('bob')]
    const thread = uniqueName('thread')
    const { entry_id } = await putOne(thread, 'mine')
    const forgedRow = { role: 'assistant', content: 'mine', metadata: { gateway: { v: 1, entry_id, kind: 'text' } } }
    for (const [path, as] of [
      [anns, 'ann'],
      [bobs, 'bob'],
    ] as const) {
      const { json } = await web.requestJson('PUT', path, { messages: [forgedRow] }, as)
      expect(json.messages).toMatchObject([{ role: 'assistant', content: 'mine', metadata: {} }])
    }
    expect(await conversation(thread)).toMatchObject([{ type: 'user_message', content: 'mine' }])
  })

  test('on a message of a run has no effect', async () => {
    const threadId = uniqueName('thread')
    const thread = uniqueName('thread')
    const { entry_id } = await putOne(thread, 'mine')
    const messages = [
      { id: 'm', role: 'user', content: 'hello', metadata: { gateway: { v: 1, entry_id, kind: 'text' } } },
    ]
    await (await web.postRun({ threadId, runId: uniqueName('run'), messages })).text()
    const rows = await web.readHistory(threadId)
    expect(rows.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect(rows[0]?.id).toBe('m')
    expect(JSON.stringify(rows)).not.toContain(entry_id)
  })
})
