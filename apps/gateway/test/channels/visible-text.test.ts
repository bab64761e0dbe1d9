import { createHash, randomUUID } from 'node:crypto'
import type { MessageRecord } from '@postern/pipeline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway, uniqueName } from '../setup/web-gateway.ts'

// These tests check one policy for every channel: no sender can hide text from the reader that a model reads.

const apiKey = 'the-key-of-the-tests'
const tags = '\u{e0050}\u{e0041}\u{e0059}'
let web: WebGateway

beforeAll(async () => {
  const api_keys = [{ name: 'tester', sha256: createHash('sha256').update(apiKey).digest('hex') }]
  web = await openWebGateway({}, { a2a: { auth: { api_keys } } })
})
afterAll(() => web.close())

const channels = ['a2a', 'web', 'activitypub', 'email'] as const
type Via = (typeof channels)[number]

async function callA2a(parts: readonly object[]): Promise<void> {
  const message = { messageId: randomUUID(), role: 'ROLE_USER', parts }
  const response = await fetch(`${web.gateway.url()}/agents/chat/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', 'x-api-key': apiKey },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
  })
  expect(await response.text()).toContain('TASK_STATE_COMPLETED')
}

async function sendText(via: Via, text: string): Promise<MessageRecord> {
  if (via === 'web') await web.runChat(text)
  else if (via === 'a2a') await callA2a([{ text }])
  else await web.gateway.simulation.send({ via, to: 'chat', text })
  return newest(via)
}

async function newest(via: string): Promise<MessageRecord> {
  const [summary] = (await web.gateway.messages()).filter(message => message.via === via)
  return web.gateway.readMessage(`#${summary?.message}`)
}

const textOf = ({ message: { parts } }: MessageRecord) => (parts[0]?.kind === 'text' ? parts[0].content : undefined)

describe.each(channels)('a message by %s', via => {
  test.each([
    ['tag characters', `Hello${tags} there.`, 'Hello there.'],
    ['zero-width spaces', 'Pa\u200by th\u200be bi\u200bll.', 'Pay the bill.'],
    ['a direction override', 'Look \u202egpj here', 'Look gpj here'],
    ['a run of musical controls', `Hello 𝄞${'\u{1d173}'.repeat(9)} there.`, `Hello 𝄞${'\u{1d173}'.repeat(2)} there.`],
  ])('loses %s and gets the flag', async (_, text, visible) => {
    const record = await sendText(via, text)
    expect(textOf(record)).toBe(visible)
    expect(record.flags).toContain('invisible_characters')
  })

  test.each([
    ['a right-to-left mark in Hebrew', 'שלום (ABC)\u200f, מחר.'],
    ['an Arabic letter mark before a number', 'الرقم \u061c12-34 هنا.'],
    ['the joiners of Persian and of a family', 'می\u200cخواهم 👨\u200d👩\u200d👧'],
  ])('keeps %s and gets no flag', async (_, text) => {
    const record = await sendText(via, text)
    expect(textOf(record)).toBe(text)
    expect(record.flags).not.toContain('invisible_characters')
  })
})

test('a name of a member in the data of an A2A message hides nothing', async () => {
  await callA2a([{ text: uniqueName('see') }, { data: { [`note${tags}`]: 1 } }])
  const { message, flags } = await newest('a2a')
  expect(message.parts).toMatchObject([{}, { data: { note: 1 } }])
  expect(flags).toContain('invisible_characters')
})

test.each([
  ['../notes.txt', 'notes.txt'],
  ['NUL.txt', '_NUL.txt'],
])('a file "%s" in an A2A message gets the name "%s"', async (filename, name) => {
  await callA2a([{ text: uniqueName('see') }, { raw: 'YQ==', filename, mediaType: 'text/plain' }])
  expect((await newest('a2a')).message.parts).toMatchObject([{}, { kind: 'file', name }])
})
