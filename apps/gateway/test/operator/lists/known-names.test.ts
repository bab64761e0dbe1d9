import { openRemoteClient } from '@postern/operator/client'
import type { ApiOutput } from '@postern/operator/commands'
import { exportMessages } from '@postern/operator/views'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestGateway } from '../../setup/gateway.ts'
import { eventually, operatorToken } from '../../setup/gateway.ts'
import type { WebGateway } from '../../setup/web-gateway.ts'
import { openWebGateway } from '../../setup/web-gateway.ts'

// These tests check the rows of the lists in the operator's API, and that an unknown name does not return an empty list.

let web: WebGateway
let gateway: TestGateway
beforeAll(async () => {
  web = await openWebGateway()
  gateway = web.gateway
})
afterAll(() => web.close())

async function requestList(path: string) {
  const headers = { authorization: `Bearer ${operatorToken}` }
  const response = await fetch(`${gateway.url()}/operator/api${path}`, { headers })
  return { status: response.status, json: (await response.json()) as { detail?: string; items?: readonly object[] } }
}

const lists = ['/messages', '/conversations', '/deliveries', '/requirements', '/relations', '/suppressions', '/events']

test.each([...lists, '/questions'])('%s refuses an unknown agent', async path => {
  const { status, json } = await requestList(`${path}?agent=nobody`)
  expect(status).toBe(404)
  expect(json.detail).toMatch(/^Cannot .+: there is no agent "nobody"$/)
})

test.each(['bans', 'approvals'])('the list of %s refuses an unknown agent', async list => {
  expect((await requestList(`/agents/nobody/${list}`)).status).toBe(404)
  expect((await requestList(`/agents/chat/${list}`)).status).toBe(200)
})

test.each([...lists, '/refusals'])('%s refuses an unknown channel', async path => {
  const { status, json } = await requestList(`${path}?channel=chatt`)
  expect([status, json.detail?.endsWith('there is no channel "chatt"')]).toEqual([404, true])
})

test('the list of refusals accepts the name of an unknown agent that a peer asked for', async () => {
  expect(await requestList('/refusals?agent=nobody')).toMatchObject({ status: 200, json: { items: [] } })
})

test('rows of messages have their conversation, and the status and time of the answer', async () => {
  await web.runChat('hello', { threadId: 'rows', id: 'rows-1' })
  await web.runChat('and again', { threadId: 'rows', id: 'rows-2' })
  const { items = [] } = (await requestList('/messages?channel=web')).json
  const rows = items as { id: string; message: number; thread: number; received_at: string; answered_at: string }[]
  const [second, first] = ['rows-2', 'rows-1'].map(id => rows.find(row => row.id === id))
  expect(second).toMatchObject({ state: 'answered', status: 'completed', thread: first?.thread })
  expect(Date.parse(second?.answered_at ?? '')).toBeGreaterThanOrEqual(Date.parse(second?.received_at ?? ''))
  const { json } = await requestList('/conversations?channel=web&agent=chat')
  const ends = { first_message: first?.message, last_message: second?.message, last_at: second?.received_at }
  expect(json.items?.find(row => (row as { thread: number }).thread === first?.thread)).toMatchObject(ends)
  expect((await requestList('/conversations?since=2099-01-01T00:00:00Z')).json.items).toEqual([])
})

test('the list of messages exports as CSV without formulas, and as JSON lines', async () => {
  await web.runChat('=HYPERLINK("https://evil.test"), or not', { threadId: 'table', id: 'table-1' })
  await web.runChat('hello', { threadId: 'table', id: 'table-2' })
  await eventually(async () => (await gateway.messages()).every(({ state }) => state === 'answered'))
  const lines: string[] = []
  const output: ApiOutput = {
    ...{ json: false, columns: 80, hasColour: false },
    print: text => void lines.push(text),
    openClient: async () => openRemoteClient({ url: gateway.url(), token: operatorToken }),
  }
  await exportMessages(output, 'csv', { agent: 'chat', since: '2020-01-01T00:00:00Z' })
  const [head, newestLine, olderLine] = lines.splice(0)
  expect(head).toBe('message,thread,id,received_at,answered_at,via,agent,sender,verified,state,status,flags,preview')
  expect(newestLine).toMatch(/,table-2,.*,web,chat,@ann@[\w.-]+,true,answered,completed,,hello$/)
  expect(olderLine).toMatch(/,table-1,.*,"'=HYPERLINK\(""https:\/\/evil\.test""\), or not"$/)
  await exportMessages(output, 'jsonl', { agent: 'chat' })
  expect(JSON.parse(lines[1] ?? '')).toMatchObject({
    id: 'table-1',
    preview: '=HYPERLINK("https://evil.test"), or not',
  })
})
