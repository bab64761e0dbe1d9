// Tests the console's screen of one message.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
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
  await gateway.simulation.send({ via: 'email', to: 'desk', text: 'When are you open?' })
  await gateway.simulation.send({ via: 'email', to: 'desk', text: 'please fail' })
})
afterAll(() => gateway.close())

const numberOf = async (text: string) => {
  const messages = await gateway.gateway.store.listMessages({ limit: 20 })
  return messages.find(({ preview }) => preview.includes(text))?.message ?? 0
}
const why = () => page.getByRole('region', { name: 'Why' })

test('the screen states the outcome in a sentence, and the waterfall shows each stage from receipt to delivery', async () => {
  await openedPage.show(`message/${await numberOf('open')}`)
  await expect.poll(() => why().textContent()).toMatch(/^Answered/)
  const order = [
    /^bytes received/,
    /^proof.*email-dmarc/,
    /^DKIM.*pass/,
    /^admitted as #/,
    /^desk answered/,
    /^delivery to alice@alice\.test/,
  ]
  const listStages = () => page.getByRole('region', { name: 'What happened' }).locator('li').allTextContents()
  const findPositions = (stages: readonly string[]) =>
    order.map(pattern => stages.findIndex(stage => pattern.test(stage)))
  await expect.poll(async () => findPositions(await listStages())).not.toContain(-1)
  const positions = findPositions(await listStages())
  expect(positions).toEqual(positions.toSorted((a, b) => a - b))
})

test('the screen names a failed agent with its error and the fix', async () => {
  await openedPage.show(`message/${await numberOf('fail')}`)
  await expect.poll(() => why().textContent()).toContain('ECONNREFUSED')
  await expect.poll(() => why().locator('.fix').textContent()).toMatch(/agent/)
})

test('the screen shows an answer in the form of each channel, and the arrow keys switch between the tabs', async () => {
  await openedPage.show(`message/${await numberOf('open')}`)
  const countBefore = (await gateway.gateway.store.listDeliveries({ limit: 50 })).length
  const tabs = page.getByRole('tablist', { name: 'The answer by channel' })
  const panel = page.locator('.previews [role=tabpanel]')
  await tabs.getByRole('tab', { name: 'mail' }).waitFor()
  await expect.poll(() => tabs.getByRole('tab', { selected: true }).textContent()).toBe('mail')
  await panel.getByText('As it was sent.').waitFor()
  const frame = page.locator('iframe')
  expect(await frame.getAttribute('sandbox')).toBe('')
  await expect.poll(() => page.frameLocator('iframe').locator('strong').textContent()).toBe('open')
  await tabs.getByRole('tab', { name: 'mail' }).press('ArrowRight')
  await page.getByText('TASK_STATE_COMPLETED').waitFor()
  await panel.getByText('As the gateway would send it').waitFor()
  await tabs.getByRole('tab', { name: 'task' }).press('ArrowRight')
  await expect.poll(() => page.locator('.bubble').count()).toBe(2)
  await tabs.getByRole('tab', { name: 'chat' }).press('ArrowRight')
  await panel.getByText('https://alice.test/@alice', { exact: true }).waitFor()
  // The channel itself adds the mention at the beginning.
  await expect
    .poll(() => page.frameLocator('iframe').locator('p').first().textContent())
    .toMatch(/^@alice We are open on Sunday/)
  expect((await gateway.gateway.store.listDeliveries({ limit: 50 })).length).toBe(countBefore)
})

test('a wide screen shows the four forms side by side', async () => {
  await page.getByRole('button', { name: 'Side by side' }).click()
  const dialog = page.getByRole('dialog', { name: 'The answer side by side' })
  for (const name of ['post', 'mail']) {
    const element = dialog.getByRole('region', { name, exact: true }).frameLocator('iframe').locator('strong')
    await expect.poll(() => element.textContent()).toBe('open')
  }
  await dialog.getByRole('region', { name: 'task', exact: true }).getByText('"artifactId"').waitFor()
  await dialog.getByRole('region', { name: 'chat', exact: true }).locator('.bubble strong').waitFor()
  await dialog.getByRole('button', { name: 'Close' }).click()
})

/** Runs a command in a shell, and returns the arguments and the input that curl gets. */
async function runShell(command: string): Promise<{ readonly words: readonly string[]; readonly input: Buffer }> {
  const curl = 'curl() { printf "%s\\0" "$@"; printf "\\0"; case "$*" in *"@-"*|*"--upload-file -"*) cat;; esac; }'
  const { stdout } = await promisify(execFile)('sh', ['-c', `${curl}; ${command}`], { encoding: 'buffer' })
  const headEnd = stdout.indexOf('\0\0')
  return { words: stdout.subarray(0, headEnd).toString().split('\0'), input: stdout.subarray(headEnd + 2) }
}

async function copyCurl(text: string): Promise<string> {
  await openedPage.show(`message/${await numberOf(text)}`)
  await page.getByRole('region', { name: 'Message and answer' }).getByText(text).first().waitFor()
  await page.evaluate(() => navigator.clipboard.writeText(''))
  await page.getByRole('button', { name: 'Copy as curl' }).click()
  const readClipboard = () => page.evaluate(() => navigator.clipboard.readText())
  await expect.poll(readClipboard).toContain('curl')
  return readClipboard()
}

const rawOf = async (text: string) =>
  Buffer.from((await gateway.gateway.store.findArrival(await numberOf(text)))?.raw ?? [])

test('a curl command sends the exact bytes of a mail to its recipient', async () => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  const { words, input } = await runShell(await copyCurl('open'))
  expect(input.equals(await rawOf('open'))).toBe(true)
  expect(words).toEqual(
    expect.arrayContaining(['--mail-from', '--mail-rcpt', 'desk@agents.test', 'smtp://127.0.0.1:25']),
  )
})

test('a curl command sends a request with its signature, and executes nothing from the request', async () => {
  const text = `it's "$HOME" $(echo run) \`echo run\` \\`
  await gateway.simulation.send({ via: 'activitypub', to: 'desk', text })
  const { words } = await runShell(await copyCurl("it's"))
  const body = words[words.indexOf('--data-binary') + 1]
  expect(body).toBe((await rawOf("it's")).toString())
  expect(body).toContain('$(echo run)')
  expect(words.find(word => word.startsWith('signature: '))).toContain('mastodon.test')
  expect(words).toContain(`${gateway.url}/agents/desk/inbox`)
})

test('the screen shows the raw mail byte for byte', async () => {
  await openedPage.show(`message/${await numberOf('When are you open')}`)
  await page.getByRole('tab', { name: 'raw .eml' }).click()
  await expect
    .poll(() => page.getByLabel('raw mail').textContent())
    .toMatch(/^(DKIM-Signature|From|Received).*When are you open\?/s)
})

test('a redacted trace has the stages without people or their text', async () => {
  await openedPage.show(`message/${await numberOf('When are you open')}`)
  await expect.poll(() => why().textContent()).toMatch(/^Answered.*alice\.test/)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Redacted trace' }).click(),
  ])
  const text = readFileSync(await download.path(), 'utf8')
  expect(text).toContain('"verdict": "pass"')
  expect(text).not.toMatch(/alice|When are you open|We are/i)
})

test('a replay shows the differences and sends nothing', async () => {
  const countBefore = (await gateway.gateway.store.listDeliveries({ limit: 50 })).length
  await page.keyboard.press('r')
  const dialog = page.getByRole('dialog', { name: 'Replay' })
  await expect.poll(() => dialog.textContent()).toMatch(/nothing is different|different/)
  await dialog.getByRole('textbox').fill('./another-word.ts')
  await dialog.getByRole('button', { name: 'Replay again' }).click()
  await expect
    .poll(() => dialog.getByRole('region', { name: 'Answer', exact: true }).textContent())
    .toContain('Another word')
  expect((await gateway.gateway.store.listDeliveries({ limit: 50 })).length).toBe(countBefore)
})

const sendNewAnswer = async () => {
  const dialog = page.getByRole('dialog', { name: 'Replay' })
  const [request] = await Promise.all([
    page.waitForRequest(sentRequest => sentRequest.postDataJSON()?.commit === true),
    dialog.getByRole('button', { name: 'Send the new answer' }).click(),
  ])
  return request.postDataJSON() as { readonly use?: string }
}

test('a replay says why the gateway cannot send its new answer, and stays open', async () => {
  const dialog = page.getByRole('dialog', { name: 'Replay' })
  // The operator sends the answer that the report shows, even if the field has changed since.
  await dialog.getByRole('textbox').fill('./opening-hours.ts')
  expect((await sendNewAnswer()).use).toBe('./another-word.ts')
  await expect
    .poll(() => dialog.getByRole('alert').textContent())
    .toContain('Nothing is queued: an answer by email cannot be changed once it is sent')
  expect(await page.getByText('The new answer is queued').count()).toBe(0)
  await dialog.getByRole('button', { name: 'Close' }).click()
})

test('the operator sends the new answer of a replay if the channel can change the old one', async () => {
  await openedPage.show(`message/${await numberOf('$HOME')}`)
  await page.getByRole('region', { name: 'Message and answer' }).getByText('$HOME').first().waitFor()
  await page.keyboard.press('r')
  const dialog = page.getByRole('dialog', { name: 'Replay' })
  await dialog.getByRole('textbox').fill('./another-word.ts')
  await dialog.getByRole('button', { name: 'Replay again' }).click()
  await dialog.getByRole('region', { name: 'Answer', exact: true }).getByText('Another word').first().waitFor()
  await sendNewAnswer()
  await page.getByText('The new answer is queued').waitFor()
  await expect.poll(() => dialog.count()).toBe(0)
  expect(openedPage.faults).toEqual([])
})
