// Tests the composer and the other screens of the console.
import type { Page } from 'playwright-core'
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
afterAll(() => gateway.close())

test('the composer sends a message and shows its outcome beside it', async () => {
  await openedPage.show('compose')
  await page.getByRole('combobox', { name: 'Channel' }).selectOption('email')
  await page.getByRole('combobox', { name: 'To' }).selectOption('desk')
  await page.getByRole('textbox', { name: 'Text' }).fill('Are you open today?')
  await page.getByRole('button', { name: 'Send' }).click()
  const result = page.getByRole('region', { name: 'Result' })
  await expect.poll(() => result.getByRole('region', { name: 'Why' }).textContent()).toMatch(/^Answered/)
  await expect.poll(() => result.getByRole('tabpanel').last().textContent()).toContain('Re: Are you open today?')
})

test('the composer names the error in a message that the gateway refuses', async () => {
  await page.getByRole('combobox', { name: 'Channel' }).selectOption('activitypub')
  await page.getByRole('button', { name: 'forged' }).click()
  const result = page.getByRole('region', { name: 'Result' })
  await expect.poll(() => result.textContent()).toMatch(/refused.*forged.*401.*signature/)
  await result.getByRole('link', { name: /in Flow/ }).click()
  await page.locator('.rows a.refused').first().click()
  await expect.poll(() => page.getByRole('region', { name: 'Facts' }).textContent()).toContain('signature_invalid')
})

test('the screen lists all messages of a person, and one button forgets the person', async () => {
  await openedPage.show('people')
  await page.getByRole('link', { name: /@alice@alice\.test/ }).click()
  await page.getByRole('link', { name: /Are you open today/ }).waitFor()
  await page.getByRole('button', { name: 'Forget' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Forget' }).click()
  await page.getByText('They have not written').waitFor()
  expect((await gateway.gateway.store.listMessages({ limit: 10 })).map(({ sender }) => sender)).not.toContain(
    '@alice@alice.test',
  )
})

test('the operator can send a deferred delivery at once, and sees its reason', async () => {
  const { mail } = gateway.simulation
  const endRefusal = mail.refuse({ code: 451, message: '4.7.1 greylisted', at: 'rcpt' })
  await gateway.simulation.send({ via: 'email', to: 'desk', text: 'will you wait?', timeoutMs: 1 })
  await openedPage.show('deliveries')
  const host = page.getByRole('region', { name: 'alice.test' })
  await expect.poll(() => host.textContent()).toMatch(/failing1 delivery · next attempt in \d+ min/)
  endRefusal()
  await host.getByRole('button', { name: /^Try now/ }).click()
  await page.getByText('Everything is delivered').waitFor()
})

test('the operator selects dead letters and dismisses or retries them together', async () => {
  const { mail } = gateway.simulation
  const endRefusal = mail.refuse({ code: 550, message: '5.7.1 not by us', at: 'rcpt' })
  for (const text of ['one', 'two', 'three']) {
    await gateway.simulation.send({ via: 'email', to: 'desk', text, timeoutMs: 1 })
  }
  const dead = page.getByRole('region', { name: 'Dead letters' })
  await expect.poll(() => dead.locator('.item').count()).toBe(3)
  await dead
    .getByRole('checkbox', { name: /^Choose/ })
    .first()
    .check()
  await dead.getByRole('button', { name: 'Dismiss 1' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Dismiss' }).click()
  await expect.poll(() => dead.locator('.item').count()).toBe(2)
  endRefusal()
  await dead.getByRole('checkbox', { name: 'Dead letters' }).check()
  await dead.getByRole('button', { name: 'Retry 2' }).click()
  await page.getByText('Everything is delivered').waitFor()
  const states = (await gateway.gateway.store.listDeliveries({ limit: 50 })).map(({ state }) => state)
  expect([states.filter(state => state === 'dismissed').length, states.includes('dead')]).toEqual([1, false])
})

test('the chat with an agent works in the session of the console', async () => {
  await openedPage.show('agents/desk')
  const chat = page.locator('postern-chat')
  await chat.getByRole('textbox').fill('hello from the console')
  await chat.getByRole('textbox').press('Enter')
  await expect
    .poll(() => chat.locator('.message').allTextContents())
    .toEqual(['hello from the console', expect.stringContaining('You said: hello from the console')])
  await page.reload()
  await expect.poll(() => page.locator('postern-chat .message').count()).toBe(2)
})

test('the chat with an agent requests no conversation before its first message, also after "New conversation"', async () => {
  const freshPage = await gateway.openPage()
  const refusals: string[] = []
  freshPage.page.on('response', answer => answer.status() >= 400 && refusals.push(`${answer.status()} ${answer.url()}`))
  const chat = freshPage.page.locator('postern-chat')
  await freshPage.show('agents/desk')
  for (const text of ['the first words', 'words of another conversation']) {
    await chat.getByRole('textbox').fill(text)
    await chat.getByRole('textbox').press('Enter')
    await expect.poll(() => chat.locator('.message').count()).toBe(2)
    await freshPage.page.reload()
    await expect.poll(() => chat.locator('.message').count()).toBe(2)
    expect(await chat.locator('.own').allTextContents()).toEqual([text])
    await freshPage.page.getByRole('button', { name: 'New conversation' }).click()
    await expect.poll(() => chat.locator('.message').count()).toBe(0)
  }
  await freshPage.page.reload()
  await chat.getByRole('textbox').waitFor()
  await freshPage.page.waitForLoadState('networkidle')
  expect(refusals).toEqual([])
  await freshPage.page.context().close()
})

test('the operator pauses and resumes an agent', async () => {
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByRole('link', { name: /^desk.*paused/ }).waitFor()
  await page.getByRole('button', { name: 'Resume' }).click()
  await expect.poll(() => page.getByRole('link', { name: /paused/ }).count()).toBe(0)
})

test('the operator searches the agents by name, and the chosen one stays open', async () => {
  const agentLinks = page.locator('.agent-link b')
  await expect.poll(() => agentLinks.allTextContents()).toContain('desk')
  await page.getByRole('textbox', { name: 'Search agents by name' }).fill('ECHO')
  await expect.poll(() => agentLinks.allTextContents()).toEqual(['echo'])
  await page.getByRole('heading', { name: 'desk', exact: true }).waitFor()
  await page.getByRole('textbox', { name: 'Search agents by name' }).fill('nobody')
  await page.getByText('No agent has this in its name').waitFor()
  await page.getByRole('textbox', { name: 'Search agents by name' }).fill('')
  await expect.poll(() => agentLinks.allTextContents()).toContain('desk')
})

test('the screen lists the production checks with their fixes, and the operator can copy the DNS records', async () => {
  await openedPage.show('go-live')
  await page.getByRole('region', { name: 'Checks' }).waitFor({ timeout: 60_000 })
  await expect.poll(() => page.getByRole('region', { name: 'Checks' }).locator('.item').count()).toBeGreaterThan(20)
  await page.getByRole('region', { name: 'DNS records' }).getByText('_domainkey.agents.test').first().waitFor()
})

test('the screen resolves an address as a peer does', async () => {
  await openedPage.show('look-up')
  await page.getByRole('textbox', { name: 'Address' }).fill('@desk@agents.test')
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'What was found' }).getByText('WebFinger is at').waitFor()
})

test('the screen shows the source of each setting, and no secret', async () => {
  await openedPage.show('settings')
  const row = page.getByRole('row', { name: /operator_token/ })
  await row.waitFor()
  await expect.poll(() => row.textContent()).toBe('operator_token"(set)"file')
  await page.getByRole('tab', { name: 'API' }).click()
  await page
    .getByRole('row', { name: /listMessages|\/messages / })
    .first()
    .waitFor()
  expect(await page.content()).not.toContain(gateway.gateway.operatorToken)
  expect(openedPage.faults).toEqual([])
})
