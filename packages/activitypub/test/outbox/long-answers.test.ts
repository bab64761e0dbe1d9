import { markdownToPostHtml } from '@postern/markup/markdown'
import type { Agent, Worker } from '@postern/pipeline'
import { afterEach, expect, test, vi } from 'vitest'
import type { TestGatewayOptions } from '../gateway.ts'
import { composeNote, postActivity } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// Strangers can make agents answer with texts of any length and of the most expensive content.

let stage: Stage
let worker: Worker

async function openWith(handle: Agent['handle'], config: TestGatewayOptions['config'] = {}): Promise<Stage> {
  stage = await openStage({ agents: { echo: { handle } }, config })
  for (const path of ['inbox', 'users/mallory/inbox']) stage.peer.serve(`https://evil.test/${path}`, { status: 202 })
  worker = stage.gateway.work()
  return stage
}

afterEach(async () => {
  await worker.stop(500)
  await stage.close()
})

test('the gateway splits a long answer once, for any number of deliveries and readers', async () => {
  const { mallory, gateway } = await openWith(() => '> '.repeat(60_000))
  const beganSending = process.cpuUsage()
  await postActivity(gateway, mallory, composeNote(mallory))
  await vi.waitFor(async () => {
    const list = await gateway.store.listDeliveries({ limit: 50 })
    expect(list.map(({ state }) => state)).toEqual(Array(20).fill('sent'))
  }, 60_000)
  const sending = process.cpuUsage(beganSending).user
  const [answer] = await gateway.store.listResponses({ agent: 'echo', via: 'activitypub', limit: 1 })
  const beganReading = process.cpuUsage()
  for (let time = 0; time < 10; time += 1) {
    const { status } = await gateway.app.request(`/agents/echo/posts/${answer?.response.id}.2`)
    expect(status).toBe(200)
  }
  expect(process.cpuUsage(beganReading).user * 2).toBeLessThan(sending)
}, 90_000)

test('several simultaneous long answers cost no more each than one alone', async () => {
  let turns = 0
  const { mallory, gateway } = await openWith(() => `${++turns} words after another, and so on. `.repeat(30_000))
  async function answer(count: number): Promise<number> {
    const { length } = await gateway.store.listDeliveries({ limit: 500 })
    const began = process.cpuUsage()
    for (let sent = 0; sent < count; sent += 1) await postActivity(gateway, mallory, composeNote(mallory))
    await vi.waitFor(
      async () => {
        const list = await gateway.store.listDeliveries({ limit: 500 })
        expect(list.filter(({ state }) => state === 'sent')).toHaveLength(length + 20 * count)
      },
      { timeout: 80_000, interval: 500 },
    )
    return process.cpuUsage(began).user
  }
  await answer(1)
  const one = await answer(1)
  expect(await answer(6)).toBeLessThan(12 * one)
}, 90_000)

test('the gateway renders an outbox of long answers once, for any number of readers', async () => {
  const { mallory, gateway } = await openWith(() => '> a\n- b\n'.repeat(12_000), { split_posts: false })
  for (let count = 0; count < 8; count += 1) await postActivity(gateway, mallory, composeNote(mallory))
  const answered = () => gateway.store.countListed({ agent: 'echo', via: 'activitypub' })
  await vi.waitFor(async () => expect(await answered()).toBe(8), 60_000)
  await worker.stop(60_000)
  async function readOutbox(): Promise<number> {
    const began = process.cpuUsage()
    const { status } = await gateway.app.request('/agents/echo/outbox?page=true')
    expect(status).toBe(200)
    return process.cpuUsage(began).user
  }
  await readOutbox()
  // The cheapest of several runs counts, because garbage collection may slow any of them.
  const later: number[] = []
  for (let count = 0; count < 4; count += 1) later.push(await readOutbox())
  const again = Math.min(...later)
  const began = process.cpuUsage()
  markdownToPostHtml('> a\n- b\n'.repeat(12_000))
  // Reading them again costs less than writing one of the eight.
  expect(again).toBeLessThan(process.cpuUsage(began).user)
}, 90_000)
