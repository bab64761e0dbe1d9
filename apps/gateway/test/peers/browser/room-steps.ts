// Lists the steps of people and an agent who share a chat room.
import { deepStrictEqual, match } from 'node:assert/strict'
import type { BrowserContext, Locator, Page } from 'playwright-core'
import type { ExamStep } from '../run-steps.ts'
import type { ChatRoom } from './chat-room.ts'

interface RoomSetup {
  readonly room: ChatRoom
  /** The browsers of Ann, of Bob, and of Cy, whose browser runs no script. */
  readonly browsers: { readonly ann: BrowserContext; readonly bob: BrowserContext; readonly cy: BrowserContext }
  /** The errors of the pages; `requested` has the origins that the pages asked. */
  readonly problems: string[]
  readonly requested: Set<string>
  /** The pages of Ann and Bob, set by the first step. */
  pages?: { readonly ann: Page; readonly bob: Page } | undefined
}

/** The steps of people who share a room in browsers of their own, together with an agent. */
export const roomSteps: readonly ExamStep<RoomSetup>[] = [
  { name: 'two people come into one room', run: comeIn },
  { name: 'one asks an agent, and the other sees question and answer as they come', run: askAgent },
  { name: 'what strangers write is text, and runs nowhere', run: attack },
  { name: 'the one who is asked has a button, the other sees who that is', run: requirement },
  { name: 'a press of the button agrees, for both to see', run: agree },
  { name: 'the pages keep to their own rules', run: keepRules },
  { name: 'without script one can come in, write, read and decide', run: useNoScript },
]

async function open({ room, problems, requested }: RoomSetup, browser: BrowserContext, name: string): Promise<Page> {
  const page = await browser.newPage()
  page.on('console', message => problems.push(message.text()))
  page.on('pageerror', error => problems.push(error.message))
  page.on('dialog', dialog => {
    problems.push(dialog.message())
    void dialog.dismiss()
  })
  page.on('request', request => requested.add(new URL(request.url()).origin))
  await page.goto(room.url)
  await page.getByLabel('What shall we call you?').fill(name)
  await page.getByRole('button', { name: 'Come in' }).click()
  await page.waitForURL('**/rooms/lobby')
  return page
}

async function comeIn(setup: RoomSetup): Promise<void> {
  const { ann, bob } = setup.browsers
  setup.pages = { ann: await open(setup, ann, 'Ann'), bob: await open(setup, bob, 'Bob') }
  match((await setup.pages.bob.textContent('body')) ?? '', /Here: Ann Bob/)
}

function pagesOf({ pages }: RoomSetup) {
  if (!pages) throw new Error('nobody has come in')
  return pages
}

async function sendText(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text)
  await page.getByRole('button', { name: 'Say it' }).click()
}

const entryWith = (page: Page, text: string): Locator => page.locator('li', { hasText: text })

async function askAgent(setup: RoomSetup): Promise<void> {
  const { ann, bob } = pagesOf(setup)
  await sendText(ann, '@clerk what is there?')
  const answer = 'What can I do for you: order, pay, secret?'
  for (const page of [ann, bob]) {
    await entryWith(page, '@clerk what is there?').waitFor()
    await entryWith(page, answer).waitFor()
    match((await entryWith(page, answer).textContent()) ?? '', /@clerk@agents\.test agent/)
  }
  deepStrictEqual(await ann.getByLabel('Message').inputValue(), '')
}

async function attack(setup: RoomSetup): Promise<void> {
  const { ann, bob } = pagesOf(setup)
  const text = '@echo <img src=x onerror="alert(1)"><script>alert(2)</script>'
  await sendText(bob, text)
  for (const page of [ann, bob]) {
    await page.locator('li.agent.said', { hasText: '<script>alert(2)</script>' }).waitFor()
    deepStrictEqual(await page.locator('ol img, ol script').count(), 0)
  }
}

async function requirement(setup: RoomSetup): Promise<void> {
  const { ann, bob } = pagesOf(setup)
  await sendText(ann, '@clerk order please')
  await entryWith(bob, 'Asked of Ann.').waitFor()
  deepStrictEqual(await bob.locator('li button').count(), 0)
  await ann.getByRole('button', { name: 'Yes, do' }).waitFor()
  deepStrictEqual(await ann.locator('li button').allTextContents(), ['Yes, do', 'No'])
}

async function agree(setup: RoomSetup): Promise<void> {
  const { ann, bob } = pagesOf(setup)
  await ann.getByRole('button', { name: 'Yes, do' }).click()
  for (const page of [ann, bob]) {
    await entryWith(page, 'Then it is done.').waitFor()
    await entryWith(page, 'Agreed.').waitFor()
    deepStrictEqual(await page.locator('li button').count(), 0)
  }
}

async function keepRules({ problems, requested, room, ...setup }: RoomSetup): Promise<void> {
  deepStrictEqual(problems, [])
  deepStrictEqual([...requested], [room.url])
  const { ann } = pagesOf({ problems, requested, room, ...setup })
  const isRun = await ann.evaluate(() => {
    const script = document.createElement('script')
    script.textContent = 'globalThis.isRun = true'
    document.body.append(script)
    return 'isRun' in globalThis
  })
  deepStrictEqual(isRun, false)
}

async function useNoScript(setup: RoomSetup): Promise<void> {
  const page = await open(setup, setup.browsers.cy, 'Cy')
  await sendText(page, '@clerk order, without haste')
  await lookUntil(page, page.getByRole('button', { name: 'No', exact: true }))
  await page.getByRole('button', { name: 'No', exact: true }).click()
  await lookUntil(page, entryWith(page, 'Then I leave it.'))
  await entryWith(page, 'Not agreed.').waitFor()
}

/** Presses the link to new messages until the wanted element appears, because a page without script does not change by itself. */
async function lookUntil(page: Page, wantedElement: Locator): Promise<void> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    await page.getByRole('link', { name: 'Look what is new' }).click()
    await page.waitForLoadState()
    if ((await wantedElement.count()) > 0) return
    await page.waitForTimeout(100)
  }
  throw new Error('it has not come')
}
