import { followMessages } from '@postern/operator/views'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openOperatorClient } from '../../src/running/operator-client.ts'
import { writeRunFile } from '../../src/system/run/run-file.ts'
import type { TestGateway } from '../setup/gateway.ts'
import { describeTestConfig, eventually, openTestGateway, operatorToken } from '../setup/gateway.ts'
import type { EventReader, OperatorEvent } from './read-events.ts'
import { openEvents } from './read-events.ts'

let gateway: TestGateway
const readers: EventReader[] = []

beforeAll(async () => {
  gateway = await openTestGateway()
})
afterAll(async () => {
  for (const reader of readers) reader.close()
  await gateway.close()
})

async function follow(options: { query?: string; lastId?: string } = {}): Promise<EventReader> {
  const reader = await openEvents(gateway.url(), { token: operatorToken, ...options })
  readers.push(reader)
  return reader
}

/** Writes the file by which commands find the running gateway. */
function describeRunning() {
  writeRunFile(gateway.dataDir, { url: gateway.url(), pid: process.pid, isSimulating: true })
  const config = describeTestConfig(gateway.simulation, gateway.dataDir)
  return { tree: config, baseDir: gateway.dataDir, missingSettings: [], path: undefined }
}

async function postText(text: string, to = 'echo'): Promise<string> {
  const { activityId } = await gateway.simulation.fediverse.deliver({ to: `@${to}@agents.test`, text })
  return activityId
}

const isOf = (id: string, kind?: string) => (event: OperatorEvent) =>
  (kind === undefined || event.kind === kind) && (event.data.id === id || event.data.message_id === id)

test('the stream reports a message, its turn and its delivery, in this order', async () => {
  const events = await follow()
  expect((await events.next()).kind).toBe('ready')
  const id = await postText('hello')
  const message = await events.next(isOf(id, 'message'))
  expect(message.data).toMatchObject({ agent: 'echo', via: 'activitypub', preview: expect.stringContaining('hello') })
  await events.next(event => isOf(id, 'turn')(event) && event.data.state === 'answered')
  const delivery = await events.next(event => isOf(id, 'delivery')(event) && event.data.state === 'sent')
  expect(delivery.data).not.toHaveProperty('wire')
  events.close()
})

test('a reader that reconnects receives missed events once', async () => {
  const events = await follow()
  const { id: lastId } = await events.next()
  events.close()
  const missed = await postText('missed')
  await gateway.simulation.fediverse
    .awaitReply((await gateway.readMessage(missed)).message.thread_source ?? '', 1)
    .catch(() => undefined)
  for (const options of [{ lastId }, { query: `?after=${lastId}` }]) {
    const secondEvents = await follow(options)
    expect((await secondEvents.next()).kind).toBe('ready')
    await secondEvents.next(isOf(missed, 'message'))
    expect(secondEvents.receivedEvents.filter(isOf(missed, 'message'))).toHaveLength(1)
    secondEvents.close()
  }
})

test.each(['nonsense', '000000000000-7-1', `ffffffffffff-1-${Date.UTC(2020, 0, 1)}`])(
  'a reader with the unknown last event %s learns that it has to reload',
  async lastId => {
    const events = await follow({ lastId })
    expect((await events.next()).kind).toBe('reload')
    events.close()
  },
)

test('a reader with an event of another gateway continues by its time', async () => {
  // Only a gateway that was running at that time can report it.
  await new Promise(resolve => setTimeout(resolve, 1_200))
  const now = Date.now()
  const id = await postText('of a moment ago')
  await gateway.readMessage(id)
  const events = await follow({ lastId: `ffffffffffff-12345-${now + 4_000}` })
  expect((await events.next()).kind).toBe('ready')
  await events.next(isOf(id, 'message'))
  events.close()
})

test('the stream omits members that an agent, a channel or a kind does not have', async () => {
  const readers = await Promise.all([
    follow({ query: '?agent=help&kind=message' }),
    follow({ query: '?channel=email&kind=message' }),
    follow({ query: '?kind=delivery&kind=refusal' }),
  ])
  for (const reader of readers) await reader.next()
  const [ofHelp, ofMail, ofDeliveries] = readers as [EventReader, EventReader, EventReader]
  await postText('to echo')
  const toHelp = await postText('to help', 'help')
  const byMail = await gateway.simulation.send({ via: 'email', to: 'echo', text: 'by mail' })
  await ofHelp.next(isOf(toHelp))
  await ofMail.next(({ data }) => byMail.id.includes(String(data.id)))
  await ofDeliveries.next(isOf(toHelp))
  expect(new Set(ofHelp.receivedEvents.slice(1).map(({ kind, data }) => `${kind} ${data.agent}`))).toEqual(
    new Set(['message help']),
  )
  expect(new Set(ofMail.receivedEvents.slice(1).map(({ data }) => data.via))).toEqual(new Set(['email']))
  expect(ofDeliveries.receivedEvents.slice(1).every(({ kind }) => kind === 'delivery')).toBe(true)
  for (const reader of readers) reader.close()
})

test('the stream reports a refusal with its reason', async () => {
  const events = await follow({ query: '?kind=refusal' })
  await events.next()
  await gateway.simulation.fediverse.deliver({ to: '@echo@agents.test', text: 'forged', fault: 'unsigned' })
  const { data } = await events.next()
  expect(data).toMatchObject({ via: 'activitypub', code: 'unsigned', reason: expect.any(String) })
  events.close()
})

test('only operators can read event streams, which refuse unknown parameters', async () => {
  await expect(openEvents(gateway.url(), { token: 'another' })).rejects.toThrow('events: 401')
  await expect(follow({ query: '?agents=echo' })).rejects.toThrow('there is no parameter')
  await expect(follow({ query: '?kind=messages' })).rejects.toThrow('events: 400')
})

test('a stopping gateway ends its streams', async () => {
  const events = await follow()
  await events.next()
  const ending = events.next(() => false).catch(error => String(error))
  await gateway.restart()
  expect(await ending).toContain('the stream has ended')
})

test('"messages --follow" prints present messages and each new one with its states, by the filter', async () => {
  const client = await openOperatorClient(describeRunning())
  const lines: string[] = []
  const following = followMessages(client, { json: false, print: text => void lines.push(text) }, { text: 'followed' })
  const ending = expect(following).rejects.toThrow(/the gateway (has ended|broke off)/)
  await postText('not this one')
  await postText('followed')
  await eventually(async () => lines.some(line => line.includes('answered') && line.includes('followed')))
  expect(lines.join()).not.toContain('not this one')
  await gateway.restart()
  await ending
})
