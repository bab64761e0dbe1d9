// Tests the console's screen of waiting decisions.
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OperatorGateway } from '../setup/operator-gateway.ts'
import { openOperatorGateway } from '../setup/operator-gateway.ts'
import { findViolations, findWideElements, openChromium, openSignedIn } from './console-gateway.ts'

let operator: OperatorGateway
let browser: Browser
beforeAll(async () => {
  operator = await openOperatorGateway()
  browser = await openChromium()
})
afterAll(async () => {
  await browser.close()
  await operator.close()
})

const openPage = (options?: BrowserContextOptions) => {
  const { gateway } = operator.swarm
  return openSignedIn(browser, { url: gateway.url(), code: gateway.gateway().createSignInCode() }, options)
}

test('the operator sees the number of waiting calls and allows one with changed arguments', async () => {
  const { page, show, faults } = await openPage()
  await operator.askForRefund('shop')
  await expect.poll(() => page.getByRole('link', { name: /^Waiting/ }).textContent()).toBe('Waiting1')
  await show('waiting')
  const panel = page.getByRole('region', { name: 'shop asks' })
  await panel.getByText('Give 20.00 back for order 17?').waitFor()
  const args = panel.getByLabel('Arguments, which you may change')
  await args.fill('{ "order": ')
  expect(await panel.getByRole('button', { name: /^Allow/ }).isDisabled()).toBe(true)
  await args.fill('{ "order": "18" }')
  await panel.getByRole('button', { name: 'Allow with these arguments' }).click()
  await expect.poll(() => operator.readNewTillLines().join()).toContain('done 18')
  await page.getByText('Nothing waits for you').waitFor()
  expect(faults).toEqual([])
  await page.context().close()
})

test('a declined call never runs', async () => {
  const { page, show } = await openPage()
  await operator.askForRefund('shop')
  await show('waiting')
  await page.getByRole('region', { name: 'shop asks' }).getByRole('button', { name: 'Decline' }).click()
  await page.getByText('Nothing waits for you').waitFor()
  expect(operator.readNewTillLines()).toEqual([])
  await page.context().close()
})

test('the operator answers a question of an agent in the browser, and the person gets the answer', async () => {
  const { page, show, faults } = await openPage()
  const { fediverse } = operator.swarm.gateway.simulation
  const { objectId } = await fediverse.deliver({
    to: '@desk@agents.test',
    text: 'Let me talk to somebody <b>real</b>',
    from: 'bob@mastodon.test',
    visibility: 'direct',
  })
  await expect.poll(() => page.getByRole('link', { name: /^Waiting/ }).textContent()).toBe('Waiting1')
  await show('waiting')
  const form = page.getByRole('form', { name: '@bob@mastodon.test asks human' })
  await form.getByText('Let me talk to somebody <b>real</b>').waitFor()
  expect(await form.getByRole('button', { name: 'Answer' }).isDisabled()).toBe(true)
  await form.getByLabel('Your answer').fill('It is me, Eve.')
  await form.getByRole('button', { name: 'Answer' }).click()
  await page.getByText('Nothing waits for you').waitFor()
  await expect.poll(() => operator.answersTo(objectId).join()).toContain('It is me, Eve.')
  expect(faults).toEqual([])
  await page.context().close()
})

test('an open list shows a new question even without an event', async () => {
  const { page, show } = await openPage()
  await page.route('**/operator/api/events*', () => undefined)
  await page.reload()
  await show('waiting')
  await page.getByText('Nothing waits for you').waitFor()
  await operator.swarm.gateway.simulation.fediverse.deliver({
    to: '@desk@agents.test',
    text: 'Let me talk to somebody in silence',
    from: 'bob@mastodon.test',
    visibility: 'direct',
  })
  const form = page.getByRole('form', { name: '@bob@mastodon.test asks human' })
  await form.getByText('Let me talk to somebody in silence').waitFor()
  await expect.poll(() => page.getByRole('link', { name: /^Waiting/ }).textContent()).toBe('Waiting1')
  await form.getByLabel('Your answer').fill('I am here.')
  await form.getByRole('button', { name: 'Answer' }).click()
  await page.getByText('Nothing waits for you').waitFor()
  await page.context().close()
})

test('the list of waiting calls meets WCAG 2.2 AA and fits a phone, in light and dark', async () => {
  await operator.askForRefund('shop')
  await operator.swarm.gateway.simulation.fediverse.deliver({
    to: '@desk@agents.test',
    text: `Let me talk to somebody about ${'unbreakable'.repeat(20)}`,
    from: 'bob@mastodon.test',
    visibility: 'direct',
  })
  for (const colorScheme of ['light', 'dark'] as const) {
    const viewport = { width: 360, height: 740 }
    const { page, show } = await openPage({ colorScheme, viewport, bypassCSP: true, reducedMotion: 'reduce' })
    await show('waiting')
    await page.getByRole('region', { name: 'shop asks' }).waitFor()
    await page.getByRole('form', { name: '@bob@mastodon.test asks human' }).waitFor()
    expect([await findWideElements(page), await findViolations(page)]).toEqual([[], []])
    await page.context().close()
  }
})
