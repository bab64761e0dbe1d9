// Tests searches in the list that span many pages without a match.
import { isoTime } from '@postern/message'
import { sketchIntake } from '@postern/testing'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ConsoleGateway, ConsolePage } from '../console-gateway.ts'
import { openConsoleGateway } from '../console-gateway.ts'

const beganAt = Date.UTC(2026, 0, 1, 12)
let gateway: ConsoleGateway
let openedPage: ConsolePage
let page: Page
let count = 0
beforeAll(async () => {
  gateway = await openConsoleGateway()
  openedPage = await gateway.openPage()
  ;({ page } = openedPage)
})
afterAll(() => gateway.close())

const rows = () => page.locator('.rows li')
const rowOf = (text: string): Locator => rows().filter({ hasText: text })
const lookFurther = () => page.getByRole('button', { name: 'Look further' })

/** Stores messages that no agent answers, one second apart. */
async function storeMessages(...texts: readonly string[]): Promise<void> {
  const admitting = texts.map(content => {
    count += 1
    const sketch: Parameters<typeof sketchIntake>[1] = {
      disposition: 'keep',
      message: {
        parts: [{ kind: 'text', mime: 'text/plain', content }],
        received_at: isoTime(beganAt + count * 1_000),
      },
    }
    return gateway.gateway.store.admit(sketchIntake(`kept ${count}`, sketch), `c${count}`)
  })
  await Promise.all(admitting)
}

const fill = (count: number) => storeMessages(...Array.from({ length: count }, (_, index) => `filler ${index}`))

test('a search finds text of an early message beyond pages without a match', async () => {
  await storeMessages('the heron was here')
  await fill(1_100)
  await openedPage.show('flow?text=heron')
  await rowOf('the heron was here').waitFor()
  expect(await lookFurther().count()).toBe(0)
})

test('the screen loads older matches by itself after it shows one', async () => {
  await storeMessages('a second heron')
  await openedPage.show('flow?text=heron&sender=ada')
  await rowOf('a second heron').waitFor()
  await rowOf('the heron was here').waitFor()
  expect(await rows().count()).toBe(2)
})

test('after many pages without a match, the screen says how far it searched and offers to continue', async () => {
  await fill(3_100)
  await openedPage.show('flow?text=heron&channel=a2a')
  await lookFurther().waitFor()
  await expect.poll(() => page.getByRole('status').filter({ hasText: 'Looked back to' }).textContent()).toMatch(/1 Jan/)
  expect(await page.getByText('Nothing fits').count()).toBe(0)
  await lookFurther().click()
  await rowOf('a second heron').waitFor()
  await rowOf('the heron was here').waitFor()
  await expect.poll(() => lookFurther().count()).toBe(0)
})

test('old matches stay on the screen when a new message arrives', async () => {
  await storeMessages('a third heron')
  await rowOf('a third heron').waitFor()
  expect(await rows().count()).toBe(3)
  expect(openedPage.faults).toEqual([])
})
