// Tests the console's list of messages and refusals.
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ConsoleGateway, ConsolePage } from './console-gateway.ts'
import { openConsoleGateway } from './console-gateway.ts'

let gateway: ConsoleGateway
let openedPage: ConsolePage
let page: Page
beforeAll(async () => {
  gateway = await openConsoleGateway()
  openedPage = await gateway.openPage()
  ;({ page } = openedPage)
})
afterAll(async () => {
  await gateway.close()
})

const rows = () => page.locator('.rows li')
const rowOf = (text: string): Locator => rows().filter({ hasText: text })

test('without messages, Flow says what to do next', async () => {
  await page.getByText('Nothing has come yet').waitFor()
  await page.getByRole('link', { name: 'Compose a message' }).waitFor()
})

test('messages of all four channels appear on the open screen, with proof and outcome', async () => {
  const { simulation } = gateway
  await simulation.send({ via: 'activitypub', to: 'desk', text: 'from the fediverse' })
  await simulation.send({ via: 'a2a', to: 'desk', text: 'from an agent' })
  await simulation.send({ via: 'email', to: 'desk', text: 'from a mailbox' })
  await chat('from a chat')
  for (const text of ['from the fediverse', 'from an agent', 'from a mailbox', 'from a chat']) {
    const row = rowOf(text)
    await row.getByText('proven', { exact: true }).waitFor({ state: 'attached' })
    await expect.poll(() => row.locator('.what').textContent()).toMatch(/^Answered/)
  }
  const channels = await page.locator('.rows .chan').allTextContents()
  expect(channels.toSorted()).toEqual(['agents', 'chat', 'email', 'fediverse'])
  await expect.poll(() => rowOf('from a mailbox').locator('.num').textContent()).toMatch(/^[\d.<]+ m?s$/)
})

test('refusals appear among the messages in grey, with their reason', async () => {
  await gateway.simulation.send({ via: 'activitypub', to: 'desk', text: 'I am somebody else', fault: 'forged' })
  const refusedElement = page.locator('.rows .refused').filter({ hasText: 'Refused:' })
  await refusedElement.first().waitFor()
  await expect.poll(() => refusedElement.first().textContent()).toContain('signature')
  const [grey, plain] = await Promise.all(
    [refusedElement.first(), rowOf('from an agent').locator('a')].map(row =>
      row.evaluate(element => getComputedStyle(element).color),
    ),
  )
  expect(grey).not.toBe(plain)
})

test('a click on a channel filters the list, and typed filters become removable chips', async () => {
  await page.getByRole('button', { name: /^email/ }).click()
  await expect.poll(() => page.locator('.rows .chan').allTextContents()).toEqual(['email'])
  expect(new URL(page.url()).hash).toBe('#/flow?channel=email')
  await page.getByRole('button', { name: 'Remove filter channel:email' }).click()
  await expect.poll(() => rows().count()).toBe(5)
  await page.getByRole('textbox', { name: /^Filter/ }).fill('state:failed')
  await page.keyboard.press('Enter')
  await page.getByText('Nothing fits these filters').waitFor()
  await gateway.simulation.send({ via: 'email', to: 'desk', text: 'please fail' })
  await rowOf('please fail').waitFor()
  expect(await rows().count()).toBe(1)
  await page.getByRole('button', { name: 'Remove filter state:failed' }).click()
  await expect.poll(() => rows().count()).toBe(6)
})

test('the counts above the rows cover all messages of the last hour, under any filter', async () => {
  await openedPage.show('flow?state=failed')
  await expect.poll(() => rows().count()).toBe(1)
  const strip = page.locator('.strip > button')
  await expect
    .poll(async () => (await strip.allTextContents()).map(text => text.replaceAll(/\s+/g, '')))
    .toEqual([
      expect.stringMatching(/^fediverse1\/h·p95[\d.<]+m?s$/),
      expect.stringMatching(/^agents1\/h·p95/),
      expect.stringMatching(/^email2\/h·p95/),
      expect.stringMatching(/^chat1\/h·p95/),
    ])
  await openedPage.show('flow')
})

test('the screen explains an invalid filter with a valid example', async () => {
  await openedPage.show('flow?since=yesterday')
  await expect.poll(() => page.getByRole('alert').textContent()).toContain('since')
  await openedPage.show('flow')
  await expect.poll(() => rows().count()).toBe(6)
})

test('the operator can go down the list, open a message and return by keyboard', async () => {
  await page.locator('#main').focus()
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('k')
  const current = page.locator('.rows [aria-current="true"]')
  await expect.poll(() => current.count()).toBe(1)
  const second = await rows().nth(0).textContent()
  await expect.poll(() => current.textContent()).toBe(second)
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'What happened' }).waitFor()
  await page.keyboard.press('u')
  await rows().first().waitFor()
  await page.keyboard.press('/')
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('search')
  await page.keyboard.press('Escape')
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keys' }).waitFor()
  await page.keyboard.press('Escape')
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
})

test('the focus moves with the selection at once, so that Enter opens the selected row', async () => {
  await openedPage.show('flow')
  await rows().nth(1).waitFor()
  await page.locator('#main').focus()
  const focused = await page.evaluate(() => {
    const press = (key: string) =>
      (document.activeElement ?? document).dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))
    press('j')
    return document.activeElement?.closest('.rows li') !== null
  })
  expect(focused).toBe(true)
})

test('new rows wait above the list while somebody is about to click', async () => {
  const target = rowOf('from a mailbox')
  await target.hover()
  const boxBefore = await target.boundingBox()
  await gateway.simulation.send({ via: 'a2a', to: 'desk', text: 'while you look' })
  await page.getByRole('button', { name: /new above/ }).waitFor()
  expect((await target.boundingBox())?.y).toBe(boxBefore?.y)
  await page.getByRole('button', { name: /new above/ }).click()
  await rowOf('while you look').waitFor()
})

test('held rows stay unchanged until the operator resumes them', async () => {
  await page.mouse.move(5, 5)
  await page.getByRole('button', { name: /^Hold/ }).click()
  const count = await rows().count()
  await gateway.simulation.send({ via: 'a2a', to: 'desk', text: 'while it is held' })
  await page.waitForTimeout(500)
  expect(await rows().count()).toBe(count)
  await page.getByRole('button', { name: /^Resume/ }).click()
  await rowOf('while it is held').waitFor()
  expect(openedPage.faults).toEqual([])
})

test('the screen also explains a refusal without a message, with its fix', async () => {
  await gateway.simulation.send({ via: 'email', to: 'nobody', text: 'Is there anybody?', timeoutMs: 1 })
  await page.locator('.rows .refused').filter({ hasText: 'no such agent' }).first().click()
  const why = page.getByRole('region', { name: 'Why' })
  await expect.poll(() => why.locator('p').first().textContent()).toMatch(/^Refused with 550 at .* UTC: /)
  await expect.poll(() => why.locator('.fix').textContent()).toMatch(/\w/)
})

async function chat(text: string): Promise<void> {
  const body = {
    threadId: 'thread-of-flow',
    runId: 'run-of-flow',
    messages: [{ id: 'm1', role: 'user', content: text }],
  }
  const response = await fetch(`${gateway.url}/api/v1/agent/runs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.gateway.operatorToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(await response.text()).toContain('RUN_FINISHED')
}
