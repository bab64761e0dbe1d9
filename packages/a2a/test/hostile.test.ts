import { afterEach, expect, test } from 'vitest'
import { operationNames } from '../src/operations/operation.ts'
import type { TestHouse, TestHouseOptions } from './house.ts'
import { openTestHouse } from './house.ts'
import { openStream } from './sse.ts'

let house: TestHouse
afterEach(() => house?.close())
const open = async (options: TestHouseOptions = {}) => {
  house = await openTestHouse(options)
  return house
}

test('a blank that breaks lines is not part of a media type', async () => {
  await open({ config: { input_modes: ['text/plain', 'image/png'] } })
  for (const mediaType of ['image/png\r\n\r\n;x', 'image/png\n;x=1', 'image/png\u00a0;x']) {
    const { body } = await house.say('', { parts: [{ raw: 'AAAA', mediaType }] })
    expect(body.error?.code, JSON.stringify(mediaType)).toBe(-32602)
  }
})

test('push credentials by the names of the protobuf file are not kept either', async () => {
  await open()
  const push = {
    url: 'https://example.com/x',
    authentication: { scheme: 'Bearer', credentials: 'geheim-4711' },
    token: 'tok-4711',
  }
  const admit: unknown[] = []
  const { body } = await house.say('hi', {}, { configuration: { task_push_notification_config: push } })
  expect(body.result).toBeDefined()
  const page = await house.desk.listMessages({ limit: 10 } as never)
  const text =
    JSON.stringify(page) +
    JSON.stringify(await Promise.all((page as any).messages?.map((m: any) => house.desk.findMessage(m.id)) ?? []))
  console.log(text.slice(0, 3000), admit.length)
  expect(text).not.toContain('4711')
})

test('a token for messages alone sets no push config inline', async () => {
  await open()
  const token = await house.issuer.sign({ scope: 'a2a:message.send' })
  const configuration = { taskPushNotificationConfig: { url: 'https://example.com/x' } }
  const { status } = await house.say('hi', {}, { token, configuration })
  expect(status).toBe(403)
})

test('two versions in the query are ambiguous', async () => {
  await open()
  const { body } = await house.say(
    'x',
    {},
    { path: '/a2a?A2A-Version=1.0&A2A-Version=0.3', headers: { 'a2a-version': '' } },
  )
  expect(body.error?.code).toBe(-32009)
})

test('a context whose name no store can keep is refused', async () => {
  await open()
  const { body } = await house.say('x', { contextId: '\ud800' })
  console.log(JSON.stringify(body))
  expect(body.error?.code).toBe(-32602)
})

test('an issuer at the host of our own agents', async () => {
  await open({ config: { auth: { issuers: [] } } })
  expect(operationNames.length).toBe(11)
})

test('listing many large tasks', async () => {
  await open()
  const big = 'x'.repeat(3_000_000)
  for (let at = 0; at < 20; at += 1) await house.say(big)
  const { text } = await house.rpc('ListTasks', { pageSize: 100, includeArtifacts: true, historyLength: 100 })
  console.log('bytes', text.length)
  expect(text.length).toBeLessThan(60e6)
}, 60_000)

test('replay memory', async () => {
  await open()
  expect(openStream).toBeDefined()
})
