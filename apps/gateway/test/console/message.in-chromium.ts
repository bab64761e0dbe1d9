import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ConsoleGateway, ConsolePage } from './console-gateway.ts'
import { openConsoleGateway } from './console-gateway.ts'

let gateway: ConsoleGateway
let opened: ConsolePage
let page: Page
beforeAll(async () => {
  gateway = await openConsoleGateway()
  opened = await gateway.openPage()
  ;({ page } = opened)
  await gateway.simulation.send({ via: 'email', to: 'desk', text: 'When are you open?' })
  await gateway.simulation.send({ via: 'email', to: 'desk', text: 'please fail' })
})
afterAll(() => gateway.close())

const numberOf = async (text: string) => {
  const messages = await gateway.gateway.store.listMessages({ limit: 20 })
  return messages.find(({ preview }) => preview.includes(text))?.message ?? 0
}
const why = () => page.getByRole('region', { name: 'Why' })

test('the sentence says what became of it, and the waterfall each stage from the bytes to the delivery', async () => {
  await opened.show(`message/${await numberOf('open')}`)
  await expect.poll(() => why().textContent()).toMatch(/^Answered/)
  const stages = await page.getByRole('region', { name: 'What happened' }).locator('li').allTextContents()
  const order = [
    /^bytes received/,
    /^proof.*email-dmarc/,
    /^DKIM.*pass/,
    /^admitted as #/,
    /^desk answered/,
    /^delivery to alice@alice\.test/,
  ]
  const places = order.map(pattern => stages.findIndex(stage => pattern.test(stage)))
  expect(places.every((place, at) => place > (places[at - 1] ?? -1))).toBe(true)
})

test('an agent that failed is named with its error and the fix', async () => {
  await opened.show(`message/${await numberOf('fail')}`)
  await expect.poll(() => why().textContent()).toContain('ECONNREFUSED')
  expect(await why().locator('.fix').textContent()).toMatch(/agent/)
})

test('one answer is shown as mail, post, task and chat; the tabs move by the arrows', async () => {
  await opened.show(`message/${await numberOf('open')}`)
  const tabs = page.getByRole('tablist', { name: 'The answer by channel' })
  await tabs.getByRole('tab', { name: 'mail' }).waitFor()
  expect(await tabs.getByRole('tab', { selected: true }).textContent()).toBe('mail')
  const frame = page.locator('iframe')
  expect(await frame.getAttribute('sandbox')).toBe('')
  expect(await page.frameLocator('iframe').locator('strong').textContent()).toBe('open')
  await tabs.getByRole('tab', { name: 'mail' }).press('ArrowRight')
  await page.getByText('TASK_STATE_COMPLETED').waitFor()
  await tabs.getByRole('tab', { name: 'task' }).press('ArrowRight')
  await expect.poll(() => page.locator('.bubble').count()).toBe(2)
})

test('the raw mail is shown byte for byte', async () => {
  await page.getByRole('tab', { name: 'raw .eml' }).click()
  await expect
    .poll(() => page.getByLabel('raw mail').textContent())
    .toMatch(/^(DKIM-Signature|From|Received).*When are you open\?/s)
})

test('a redacted trace has the stages, and neither a person nor their words', async () => {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Redacted trace' }).click(),
  ])
  const text = readFileSync(await download.path(), 'utf8')
  expect(text).toContain('"verdict": "pass"')
  expect(text).not.toMatch(/alice|When are you open|We are/i)
})

test('a replay says what is different, and sends nothing', async () => {
  const before = (await gateway.gateway.store.listDeliveries({ limit: 50 })).length
  await page.keyboard.press('r')
  const dialog = page.getByRole('dialog', { name: 'Replay' })
  await expect.poll(() => dialog.textContent()).toMatch(/nothing is different|different/)
  await dialog.getByRole('textbox').fill('./another-word.ts')
  await dialog.getByRole('button', { name: 'Replay again' }).click()
  await expect
    .poll(() => dialog.getByRole('region', { name: 'Answer', exact: true }).textContent())
    .toContain('Another word')
  expect((await gateway.gateway.store.listDeliveries({ limit: 50 })).length).toBe(before)
  expect(opened.faults).toEqual([])
})
