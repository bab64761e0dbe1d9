import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readMessageText } from 'postern'
import type { StartedGateway } from 'postern/testing'
import { createTestContext, createTestMessage, startGateway } from 'postern/testing'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startModel } from './model.ts'

const customer = { via: 'email', from: 'alice@alice.test' } as const
const mechanic = { via: 'email', from: 'bob@quarantine.test', to: 'workshop' } as const
const folder = mkdtempSync(join(tmpdir(), 'shop-'))
const photo = Buffer.from('/9j/4AAQSkZJRg==', 'base64')

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

let gateway: StartedGateway
let model: Awaited<ReturnType<typeof startModel>>

beforeAll(async () => {
  model = await startModel(0)
  vi.stubEnv('MODEL_URL', model.url)
  vi.stubEnv('SHOP_DATABASE', join(folder, 'shop.db'))
  vi.stubEnv('SHOP_DOMAIN', 'quarantine.test')
  gateway = await startGateway()
})

afterAll(async () => {
  await gateway.stop()
  model.close()
  rmSync(folder, { recursive: true })
})

const ask = (text: string) => gateway.send({ ...customer, to: 'support', text })

test('a customer learns the state of their own order, and of no other', async () => {
  expect(readMessageText(await ask('Where is order 18?'))).toContain('City bike')
  expect(readMessageText(await ask('Where is order 19?'))).toContain('no such order')
})

test('a forged sender learns nothing', async () => {
  const forged = { via: 'email', from: 'bob@nodmarc.test', fault: 'forged', to: 'support' } as const
  expect(readMessageText(await gateway.send({ ...forged, text: 'Where is order 19?' }))).toContain('no such order')
})

test('the customer gets the receipt as a PDF', async () => {
  const { parts } = await ask('Please send the receipt of order 17.')
  expect(parts).toContainEqual(expect.objectContaining({ name: 'receipt-17.pdf', mime: 'application/pdf' }))
  const file = parts.find(part => part.kind === 'file')
  const bytes = file?.bytes_ref.kind === 'inline' ? Buffer.from(file.bytes_ref.data_base64, 'base64') : undefined
  expect(bytes?.toString('latin1')).toMatch(/^%PDF-/)
})

test('small refunds run at once, larger ones wait for the shop, and none exceeds the price', async () => {
  expect(readMessageText(await ask('Please refund order 17 by 15.'))).toContain('Gave 15 euros back')
  const asked = await ask('Please refund order 18 by 300.')
  expect(readMessageText(asked)).not.toContain('Gave')
  expect(readMessageText(await gateway.decide(asked, 'granted'))).toContain('Gave 300 euros back')
  expect(readMessageText(await ask('Please refund order 18 by 600.'))).toContain('forbidden')
  expect(readMessageText(await ask('Please refund order 17 by 20.'))).toContain('Gave 20 euros back')
  expect(readMessageText(await ask('Please refund order 17 by 20.'))).toContain('did not cost that much')
})

test('a message refunds an order once, and the model learns that a second refund gave nothing', async () => {
  const { refund } = await import('./tools.ts')
  const message = createTestMessage({ from: '@alice@alice.test' })
  const context = { ...createTestContext({ message }), messageNumber: 900 }
  const give = (amount: number) => refund.run({ order: 17, amount }, context)
  expect(await give(4)).toBe('Gave 4 euros back for this message.')
  expect(await give(4)).toBe('Gave 4 euros back for this message.')
  expect(await give(5)).toContain('Gave 4 euros back for this message. It gets nothing more')
  expect(readMessageText(await ask('Please refund order 17 by 7.'))).toContain('did not cost that much')
})

test('the owner of a bicycle learns in the same conversation that it is ready', async () => {
  const parts = [{ kind: 'file', name: 'wheel.jpg', mime: 'image/jpeg', bytes: photo }] as const
  const brought = await gateway.send({ ...customer, to: 'workshop', text: 'The wheel is bent.', parts })
  expect(readMessageText(brought)).toContain('repair 1')
  expect((await gateway.send({ ...mechanic, text: 'photo 1' })).parts).toMatchObject([{ name: 'repair-1.jpg' }])

  expect(readMessageText(await ask('How is my bicycle?'))).toContain('"isReady":false')
  expect(readMessageText(await gateway.send({ ...mechanic, text: 'ready 1' }))).toBe('The owner knows.')
  expect(readMessageText(await ask('How is my bicycle?'))).toContain('"isReady":true')
  await vi.waitFor(async () => {
    const [notice] = (await gateway.inbox('alice@alice.test')).filter(({ text }) => text.includes('is ready'))
    expect(notice?.text).toContain('repair 1')
  }, 20_000)
})

test('another program gets its repairs as JSON', async () => {
  const { parts } = await gateway.send({ via: 'a2a', from: 'alice', to: 'workshop', text: 'Which repairs are mine?' })
  expect(parts).toMatchObject([{ kind: 'artifact', name: 'repairs.json', data: { repairs: [] } }])
})

test('followers get the weekly news once, however often the gateway starts', async () => {
  await gateway.follow('alice@mastodon.test', 'workshop')
  const readNews = async () => (await gateway.inbox('alice@mastodon.test')).filter(({ text }) => text.includes('seven'))
  vi.stubEnv('SHOP_DATABASE', join(folder, 'next-week.db'))
  await gateway.restart()
  await vi.waitFor(async () => expect(await readNews()).toHaveLength(1), 20_000)
  await gateway.restart()
  expect(readMessageText(await ask('Where is order 18?'))).toContain('City bike')
  expect(await readNews()).toHaveLength(1)
})

test('the workshop forgets an owner when the gateway does', async () => {
  await gateway.send({ ...customer, to: 'workshop', text: 'The bell is silent.' })
  expect(readMessageText(await ask('How is my bicycle?'))).toContain('bell')
  await fetch(`${gateway.url}/operator/api/people/forget`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ address: 'alice@alice.test', agent: 'workshop' }),
  })
  await vi.waitFor(async () => expect(readMessageText(await ask('How is my bicycle?'))).not.toContain('bell'), 20_000)
})
