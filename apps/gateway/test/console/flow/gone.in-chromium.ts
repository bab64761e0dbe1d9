// Tests that messages leave the open list when the store forgets them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isoTime } from '@postern/message'
import { sketchIntake } from '@postern/testing'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ConsoleGateway, ConsolePage } from '../console-gateway.ts'
import { openConsoleGateway } from '../console-gateway.ts'

const beganAt = Date.UTC(2026, 0, 1)
const [ada, bob] = ['@ada@peer.test', '@bob@peer.test']
const directory = mkdtempSync(join(tmpdir(), 'postern-held-'))
let gateway: ConsoleGateway
let openedPage: ConsolePage
let page: Page
let count = 0
beforeAll(async () => {
  const agents = { echo: { use: 'builtin:echo' }, desk: { use: './opening-hours.ts' }, held: { use: './held.ts' } }
  gateway = await openConsoleGateway({ agents })
  openedPage = await gateway.openPage()
  ;({ page } = openedPage)
})
afterAll(async () => {
  await gateway.close()
  rmSync(directory, { recursive: true })
})

const rows = () => page.locator('.rows li')
const rowOf = (text: string): Locator => rows().filter({ hasText: text })

/** Stores a message that no agent answers. */
function storeMessage(from: string, content: string): Promise<unknown> {
  count += 1
  const sketch: Parameters<typeof sketchIntake>[1] = {
    disposition: 'keep',
    message: {
      sender: { address: from, display_name: '', auth_method: 'none', verified: false },
      parts: [{ kind: 'text', mime: 'text/plain', content }],
      received_at: isoTime(beganAt + count * 1_000),
    },
  }
  return gateway.gateway.store.admit(sketchIntake(`kept ${count}`, sketch), `c${count}`)
}

/** Deletes Ada's messages from the store; a message of Bob's then makes the screen reload. */
async function forgetAda(): Promise<void> {
  await gateway.gateway.store.forgetPerson({ agent: undefined, addresses: [{ via: 'a2a', address: ada }] })
  await storeMessage(bob, 'bob looks in')
  await rowOf('bob looks in').first().waitFor()
}

test('the open screen removes messages that the store has deleted', async () => {
  await storeMessage(bob, 'bob begins')
  await storeMessage(ada, 'ada has a secret')
  await openedPage.show('flow')
  await rowOf('ada has a secret').waitFor()
  await forgetAda()
  await expect.poll(() => rowOf('secret').count()).toBe(0)
  expect(await rows().count()).toBe(2)
})

test('the screen removes deleted messages among hundreds of rows and keeps older rows', async () => {
  for (let index = 0; index < 450; index += 1) await storeMessage(bob, `bob counts ${index}`)
  await storeMessage(ada, 'ada has another secret')
  for (let index = 0; index < 20; index += 1) await storeMessage(bob, `bob goes on ${index}`)
  await openedPage.show('flow?agent=echo')
  await rowOf('ada has another secret').waitFor()
  const size = () => rows().first().getAttribute('aria-setsize')
  await page.locator('.rows').evaluate(element => element.scrollTo(0, 1e6))
  await expect.poll(size).toBe('473')
  await page.locator('.rows').evaluate(element => element.scrollTo(0, 0))
  await forgetAda()
  await expect.poll(size).toBe('473')
  await expect.poll(() => rowOf('secret').count()).toBe(0)
  await page.locator('.rows').evaluate(element => element.scrollTo(0, 1e6))
  await rowOf('bob begins').waitFor()
})

test('an answered message leaves the filter `state:working`, and the others stay', async () => {
  const sendHeld = (name: string) => gateway.simulation.send({ via: 'a2a', to: 'held', text: join(directory, name) })
  await openedPage.show('flow?state=working')
  const sentMessages = Promise.all([sendHeld('first'), sendHeld('second')])
  await rowOf('/first').waitFor()
  await rowOf('/second').waitFor()
  writeFileSync(join(directory, 'first'), '')
  await expect.poll(() => rowOf('/first').count()).toBe(0)
  expect(await rows().count()).toBe(1)
  writeFileSync(join(directory, 'second'), '')
  await page.getByText('Nothing fits these filters').waitFor()
  await sentMessages
  expect(openedPage.faults).toEqual([])
})
