// Tests `<postern-chat>` in the page of an example.
import { hash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OperatorGateway } from '../../setup/operator-gateway.ts'
import { evesToken, openOperatorGateway } from '../../setup/operator-gateway.ts'
import { shopkeeper } from '../../setup/requirement-steps.ts'
import { annsToken } from '../../setup/swarm-gateway.ts'
import { openChromium, watchFaults } from '../console-gateway.ts'
import type { ServedPages } from './serve-pages.ts'
import { servePages } from './serve-pages.ts'

const example = fileURLToPath(new URL('../../../../../examples/web-page', import.meta.url))

let operator: OperatorGateway
let browser: Browser
let pages: ServedPages
beforeAll(async () => {
  browser = await openChromium()
  const pageOrigin = 'http://127.0.0.1:8787'
  // The default agent of this gateway is a swarm.
  pages = await servePages(example, page =>
    page.replace('/api/v1/agent"', '/api/v1/agents/echo"').replaceAll(pageOrigin, operator.swarm.gateway.url()),
  )
  operator = await openOperatorGateway({
    origins: [pages.origin],
    agents: shop => ({
      echo: { use: 'builtin:echo' },
      asking: { ...shop, tool_policies: { refund: { policy: 'preview', remember: 'conversation' } } },
      store: shopkeeper,
      clock: { use: '../agents/chat/clock.ts' },
    }),
  })
})
afterAll(async () => {
  await browser.close()
  pages.close()
  await operator.close()
})

interface ChatPage {
  readonly page: Page
  readonly chat: Locator
  readonly faults: readonly string[]
  sendText(text: string): Promise<void>
}

/** Opens the example's page, with the chat at another path of the gateway and this token. */
async function openChatPage(path = '/api/v1/agents/echo', token = annsToken): Promise<ChatPage> {
  const page = await (await browser.newContext()).newPage()
  const faults = watchFaults(page)
  page.on('dialog', dialog => void dialog.accept(token))
  await page.goto(`${pages.origin}/`)
  const chat = page.locator('postern-chat')
  const endpoint = operator.swarm.gateway.url() + path
  await chat.evaluate((element, url) => element.setAttribute('endpoint', url), endpoint)
  return {
    page,
    chat,
    faults,
    async sendText(text) {
      await chat.getByRole('textbox', { name: 'Message' }).fill(text)
      await chat.getByRole('textbox', { name: 'Message' }).press('Enter')
    },
  }
}

const wordsOf = (chat: Locator) => chat.locator('.message').allTextContents()

test('the example page chats from its own origin, and shows the conversation again after a reload', async () => {
  const { page, chat, sendText, faults } = await openChatPage()
  await sendText('Hello from https://shop.example')
  await expect.poll(() => wordsOf(chat)).toEqual(['Hello from https://shop.example', expect.stringContaining('Hello')])
  expect(await chat.locator('.own a').getAttribute('href')).toBe('https://shop.example')
  await page.reload()
  await expect.poll(async () => (await wordsOf(chat)).length).toBe(2)
  expect(faults).toEqual([])
  await page.context().close()
})

test('a person chooses files, sees their names beside the text, and the agent gets their complete bytes', async () => {
  const { page, chat, sendText } = await openChatPage()
  const buffer = Buffer.from('one,two\n'.repeat(5_000))
  await chat.locator('input[type=file]').setInputFiles([{ name: 'table.csv', mimeType: 'text/csv', buffer }])
  await chat.getByText('table.csv').waitFor()
  await sendText('Please read this')
  await expect.poll(() => wordsOf(chat)).toHaveLength(2)
  const { gateway } = operator.swarm
  const [newest] = await gateway.messages()
  const { message } = await gateway.readMessage(`#${newest?.message}`)
  const bytes_ref = { kind: 'content_addressed', algo: 'sha256', digest: hash('sha256', buffer) }
  expect(message.parts).toContainEqual(
    expect.objectContaining({ kind: 'file', name: expect.stringMatching(/table\.csv$/), bytes_ref }),
  )
  await page.context().close()
})

test('a tool call waits for the person with its arguments, and runs once only if they allow it', async () => {
  const { page, chat, sendText } = await openChatPage('/api/v1/agents/asking')
  operator.readNewTillLines()
  await sendText('My money back, please')
  const box = chat.locator('.ask')
  await expect.poll(() => box.textContent()).toMatch(/Give 20.00 back for order 17\?.*refund \{"order":"17"\}/)
  await box.getByRole('button', { name: 'Decline' }).click()
  await chat.getByText('You declined it.').waitFor()
  await expect.poll(async () => (await wordsOf(chat)).at(-1)).toContain('The till says')
  expect(operator.readNewTillLines()).toEqual([])
  await sendText('Again, please')
  await expect.poll(() => box.count()).toBe(1)
  await box.getByLabel('How long this counts').selectOption('conversation')
  await box.getByRole('button', { name: 'Allow' }).click()
  await expect.poll(async () => (await wordsOf(chat)).at(-1)).toContain('refunded')
  expect(operator.readNewTillLines()).toEqual(['begun 17', 'done 17'])
  // The decision holds for the conversation, so nobody is asked again.
  await sendText('And once more, please')
  await expect.poll(() => operator.readNewTillLines()).toEqual(['begun 17', 'done 17'])
  expect(await box.count()).toBe(0)
  await page.context().close()
})

test('an operator allows a call with changed arguments in the same element', async () => {
  await operator.askForRefund('shop')
  operator.readNewTillLines()
  const { page, chat, sendText } = await openChatPage('/api/v1/operator', evesToken)
  await sendText('What waits?')
  const box = chat.locator('.ask')
  const args = box.getByLabel('Arguments, which you may change')
  await expect.poll(() => args.inputValue()).toContain('"order": "17"')
  await args.fill('{ "order": ')
  await box.getByRole('button', { name: 'Allow' }).click()
  await box.getByText('These arguments are no JSON.').waitFor()
  expect(operator.readNewTillLines()).toEqual([])
  await args.fill('{ "order": "18" }')
  await box.getByRole('button', { name: 'Allow' }).click()
  await expect.poll(() => operator.readNewTillLines()).toEqual(['begun 18', 'done 18'])
  await page.context().close()
})

test('text of an interrupted attempt disappears, and a failure appears once', async () => {
  const { page, chat, sendText } = await openChatPage('/api/v1/agents/clock')
  await sendText('again')
  await expect.poll(() => wordsOf(chat)).toEqual(['again', 'All of', 'It is noon.'])
  await sendText('fail')
  await expect
    .poll(async () => (await wordsOf(chat)).slice(3))
    .toEqual(['fail', 'Look', expect.stringMatching(/^Sorry/)])
  expect(await chat.locator('.note.bad').count()).toBe(0)
  await page.context().close()
})

test('a requirement with a decision page has its link, and the run continues after the decision', async () => {
  const { page, chat, sendText } = await openChatPage('/api/v1/agents/store')
  await sendText('pay')
  const box = chat.locator('.ask')
  await box.getByText('A cake is not for nothing.').waitFor()
  const link = box.getByRole('link', { name: 'Open the page to decide' })
  expect(await link.getAttribute('href')).toMatch(/^https:\/\/agents\.test\/actions\/[\w-]{43}$/)
  expect(await link.getAttribute('rel')).toContain('noopener')
  await box.getByRole('button', { name: 'I have decided' }).click()
  // Nobody has paid, so the question comes again.
  await expect.poll(() => box.getByText('A cake is not for nothing.').count()).toBe(1)
  await page.context().close()
})
