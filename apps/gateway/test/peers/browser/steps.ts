// Lists the steps of a person who decides by a link in a mail.
import { deepStrictEqual, match, ok } from 'node:assert/strict'
import type { Simulation } from '@postern/simulation'
import type { BrowserContext, Page } from 'playwright-core'
import { waitUntil } from '../eventually.ts'
import { ourOrigin } from '../names.ts'
import type { OurGateway } from '../our-gateway.ts'
import type { ExamStep } from '../run-steps.ts'

interface BrowserSetup {
  readonly simulation: Simulation
  readonly gateway: OurGateway
  /** The browsers: `scripted` runs scripts, and `plain` does not. */
  readonly browsers: { readonly plain: BrowserContext; readonly scripted: BrowserContext }
  /** The link in the mail, set by the first step. */
  link: string
}

/** The steps of a person who is asked for consent by mail, in a browser that runs no scripts. */
export const browserSteps: readonly ExamStep<BrowserSetup>[] = [
  { name: 'a mail asks for consent, with a link', run: askByMail },
  { name: 'the link is opened twice, and decides nothing', run: openLinkTwice },
  { name: 'the page shows who asks what of whom, and words are words', run: readChat },
  { name: 'no other page shows it inside of itself', run: frame },
  { name: 'the page keeps to its own rules', run: listenForViolations },
  { name: 'a press of the button agrees, and the agent goes on by mail', run: agree },
  { name: 'the link shows what was decided, and offers nothing more', run: lookAgain },
]

async function askByMail(setup: BrowserSetup): Promise<void> {
  const { mail } = await setup.simulation.mail.deliver({ to: 'shop@agents.test', text: 'consent please' })
  const { html = '' } = await setup.simulation.mail.awaitReply(mail.messageId, 20_000)
  const [, link = ''] = /<a href="([^"]+)">Yes, hand it on<\/a>/.exec(html) ?? []
  ok(link.startsWith(`${ourOrigin}/actions/`), `no link in ${html}`)
  setup.link = link
}

async function openLink({ browsers, link }: BrowserSetup): Promise<Page> {
  const page = await browsers.plain.newPage()
  const answer = await page.goto(link)
  deepStrictEqual(answer?.status(), 200)
  return page
}

const countMessages = async ({ gateway }: BrowserSetup) => (await gateway.messages()).length

async function openLinkTwice(setup: BrowserSetup): Promise<void> {
  for (let time = 0; time < 2; time += 1) await (await openLink(setup)).close()
  deepStrictEqual(await countMessages(setup), 1)
}

async function readChat(setup: BrowserSetup): Promise<void> {
  const page = await openLink(setup)
  deepStrictEqual(await page.title(), 'Your order')
  match((await page.textContent('blockquote')) ?? '', /May I hand your order on to the <baker>\?/)
  const text = (await page.textContent('body')) ?? ''
  match(text, /The shop \(@shop@agents\.test\)/)
  match(text, /asks @alice@alice\.test/)
  match(text, /It can be decided once, until \d{4}-\d\d-\d\d \d\d:\d\d UTC/)
  deepStrictEqual(await page.locator('button').allTextContents(), ['Yes, hand it on', 'No'])
  const green = await page.locator('.yes').evaluate(element => getComputedStyle(element).backgroundColor)
  deepStrictEqual(green, 'rgb(29, 107, 58)')
  await page.close()
}

async function frame({ browsers, link }: BrowserSetup): Promise<void> {
  const page = await browsers.scripted.newPage()
  await page.goto(`${ourOrigin}/healthz`)
  await page.setContent(`<iframe src="${link}"></iframe>`)
  const inner = await waitUntil('the frame has loaded', () => {
    const [, child] = page.frames()
    return child?.url().startsWith('chrome-error:') || child?.url() === link ? child : undefined
  })
  await inner.waitForLoadState().catch(() => undefined)
  deepStrictEqual(await inner.locator('button').count(), 0)
  await page.close()
}

async function listenForViolations({ browsers, link }: BrowserSetup): Promise<void> {
  const page = await browsers.scripted.newPage()
  const problems: string[] = []
  page.on('console', message => problems.push(message.text()))
  page.on('pageerror', error => problems.push(error.message))
  const requested: string[] = []
  page.on('request', request => requested.push(request.url()))
  await page.goto(link)
  deepStrictEqual(problems, [])
  deepStrictEqual([...new Set(requested)], [link])
  const isRun = await page.evaluate(() => {
    const script = document.createElement('script')
    script.textContent = 'globalThis.isRun = true'
    document.body.append(script)
    return 'isRun' in globalThis
  })
  deepStrictEqual(isRun, false)
  await page.close()
}

async function agree(setup: BrowserSetup): Promise<void> {
  const page = await openLink(setup)
  await page.getByRole('button', { name: 'Yes, hand it on' }).click()
  await page.waitForLoadState()
  deepStrictEqual(await page.title(), 'Agreed')
  await waitUntil('the agent has gone on', () =>
    setup.simulation.mail.received.find(({ text }) =>
      text?.includes('decided: consent_required granted by link, my state, 7'),
    ),
  )
  await page.close()
}

async function lookAgain(setup: BrowserSetup): Promise<void> {
  const page = await openLink(setup)
  deepStrictEqual(await page.title(), 'Agreed')
  deepStrictEqual(await page.locator('button').count(), 0)
  deepStrictEqual(await countMessages(setup), 2)
  await page.close()
}
