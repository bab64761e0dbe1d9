// Tests the accessibility, width and scrolling speed of the console's screens.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import type { ConsoleGateway } from './console-gateway.ts'
import { findViolations, findWideElements, openConsoleGateway } from './console-gateway.ts'

let consoleGateway: ConsoleGateway
let messageNumber = 0
beforeAll(async () => {
  consoleGateway = await openConsoleGateway()
  const { simulation } = consoleGateway
  await simulation.send({ via: 'activitypub', to: 'desk', text: 'When are you open on Sunday, and do you take cards?' })
  await simulation.send({ via: 'email', to: 'desk', text: 'Re: order 1182' })
  await simulation.send({ via: 'activitypub', to: 'desk', text: 'x', fault: 'forged' })
  const { mail, fediverse } = simulation
  const word = 'unbreakable'.repeat(20)
  await simulation.send({ via: 'activitypub', to: 'desk', text: `${word} https://x.test/${word}` })
  fediverse.disturb('gotosocial.test', {
    answer: { status: 503, headers: { 'retry-after': '3600' } },
    method: 'POST',
  })
  await simulation.send({ via: 'activitypub', to: 'desk', text: 'later', from: 'alice@gotosocial.test', timeoutMs: 1 })
  const endRefusal = mail.refuse({ code: 550, message: `5.1.1 ${word}`, at: 'rcpt', times: 1 })
  await simulation.send({ via: 'email', to: 'desk', text: 'nobody', timeoutMs: 1 })
  await eventually(async () => {
    const { deliveries } = await consoleGateway.gateway.store.count()
    return deliveries.dead === 1 && deliveries.later === 1
  })
  endRefusal()
  messageNumber =
    (await consoleGateway.gateway.store.listMessages({ limit: 9 })).find(({ preview }) => preview.includes(word))
      ?.message ?? 0
})
afterAll(() => consoleGateway.close())

const routes = () => [
  'flow',
  `message/${messageNumber}`,
  'refusal/1',
  'compose',
  'waiting',
  'people',
  'people/%40alice%40alice.test',
  'deliveries',
  'agents/desk',
  'go-live',
  'look-up/%40desk%40agents.test',
  'settings',
]

/** Waits until the screen shows its content. */
async function waitForContent(page: Page): Promise<void> {
  await page.locator('main h1').first().waitFor()
  await page.waitForFunction(() => !document.querySelector('main [role=status]:not(.toasts)'), undefined, {
    timeout: 60_000,
  })
  await page.waitForTimeout(300)
}

test.each(['light', 'dark'] as const)('axe finds no WCAG 2.2 AA violation on any screen, in %s', async colorScheme => {
  const { page, show } = await consoleGateway.openPage({ colorScheme, bypassCSP: true, reducedMotion: 'reduce' })
  const violationsByRoute: unknown[] = []
  for (const route of routes()) {
    await show(route)
    await waitForContent(page)
    const violations = await findViolations(page)
    if (violations.length > 0) violationsByRoute.push([route, violations])
  }
  expect(violationsByRoute).toEqual([])
  await page.context().close()
})

test('every screen fits the width of a phone of 360 px', async () => {
  const { page, show } = await consoleGateway.openPage({ viewport: { width: 360, height: 740 } })
  const wideElementsByRoute: unknown[] = []
  for (const route of routes()) {
    await show(route)
    await waitForContent(page)
    const wideElements = await findWideElements(page)
    if (wideElements.length > 0) wideElementsByRoute.push([route, wideElements])
  }
  expect(wideElementsByRoute).toEqual([])
  await page.context().close()
})

test('10,000 rows scroll about as fast as 100, and the page renders few of them', { timeout: 240_000 }, async () => {
  const shortListScroll = await scrollThrough(100)
  const longListScroll = await scrollThrough(10_000)
  expect([shortListScroll.rows, longListScroll.rows]).toEqual([100, 10_000])
  expect(longListScroll.maxRenderedRows).toBeLessThan(80)
  expect(longListScroll.fastQuartileFrameMs).toBeLessThan(3 * shortListScroll.fastQuartileFrameMs)
})

interface Scrolling {
  /** The number of rows in the list. */
  readonly rows: number
  /** The largest number of rows that the page contained at once. */
  readonly maxRenderedRows: number
  /** The slowest of the fastest quarter of the frames, ms: those that no other program of the machine has delayed. */
  readonly fastQuartileFrameMs: number
}

/** Scrolls a list from its top to its end, and repeats that until there are enough frames to compare. */
async function scrollThrough(count: number): Promise<Scrolling> {
  const { page } = await consoleGateway.openPage()
  await page.route('**/operator/api/messages?*', async route => {
    const query = new URL(route.request().url()).searchParams
    const from = Number(query.get('after') ?? count + 1)
    const limit = Number(query.get('limit'))
    const items = Array.from({ length: Math.min(limit, from - 1) }, (_, index) => describeRow(from - 1 - index))
    await route.fulfill({ json: { items, next: from - 1 > limit ? (items.at(-1)?.message ?? null) : null } })
  })
  await page.route('**/operator/api/refusals?*', route => route.fulfill({ json: { items: [], next: null } }))
  await page.route('**/operator/api/outcomes?*', route => route.fulfill({ json: { outcomes: [] } }))
  await page.reload()
  const list = page.locator('.rows')
  await list.waitFor()
  const scrolling = await list.evaluate(async (element, count) => {
    const frames: number[] = []
    const countRows = () => Number(element.querySelector('li')?.getAttribute('aria-setsize'))
    const isAtEnd = () => element.scrollTop + element.clientHeight >= element.scrollHeight - 40
    const deadline = performance.now() + 150_000
    let maxRenderedRows = 0
    let previousAt = performance.now()
    while (previousAt < deadline) {
      if (!isAtEnd()) element.scrollTop += 400
      else if (countRows() >= count && frames.length >= 200) break
      else if (countRows() >= count) element.scrollTop = 0
      await new Promise(requestAnimationFrame)
      const now = performance.now()
      frames.push(now - previousAt)
      previousAt = now
      maxRenderedRows = Math.max(maxRenderedRows, element.querySelectorAll('li').length)
    }
    frames.sort((left, right) => left - right)
    return { maxRenderedRows, rows: countRows(), fastQuartileFrameMs: frames[Math.floor(frames.length / 4)] ?? 0 }
  }, count)
  await page.context().close()
  return scrolling
}

function describeRow(message: number): { readonly message: number } & Record<string, unknown> {
  const isoTime = new Date(Date.UTC(2026, 0, 1) + message * 1_000).toISOString()
  return {
    message,
    id: `m${message}`,
    via: 'email',
    agent: 'desk',
    sender: `@p${message}@alice.test`,
    verified: true,
    state: 'answered',
    received_at: isoTime,
    preview: `row ${message}`,
    correlation_id: 'c',
    flags: [],
  }
}
