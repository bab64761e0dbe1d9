// Tests the steps of a turn on the screen of a message.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ModelServer } from '@postern/agents/test-model-server'
import { openModelServer, replyWith, respondWithToolCall } from '@postern/agents/test-model-server'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ConsoleGateway, ConsolePage } from '../console-gateway.ts'
import { openConsoleGateway } from '../console-gateway.ts'

const directory = mkdtempSync(join(tmpdir(), 'postern-steps-'))
const script = [
  respondWithToolCall('ask_hook', {}, 'id-1'),
  respondWithToolCall('fall', {}, 'id-2'),
  replyWith('Both are done.'),
]
let model: ModelServer
let gateway: ConsoleGateway
let openedPage: ConsolePage
let page: Page
beforeAll(async () => {
  model = await openModelServer((_, index) => script[index] ?? { status: 418 })
  const tools = '../calling/errands.ts'
  gateway = await openConsoleGateway({
    agents: {
      clerk: { use: 'openai', base_url: model.baseUrl, model: 'test-model', tools },
      phased: { use: './phased.ts' },
      hook: { use: 'builtin:echo' },
    },
    default_agent: 'clerk',
  })
  openedPage = await gateway.openPage()
  ;({ page } = openedPage)
  await gateway.simulation.send({ via: 'email', to: 'clerk', text: 'Run both errands.' })
})
afterAll(async () => {
  await gateway.close()
  await model.close()
  rmSync(directory, { recursive: true, force: true })
})

const summaries = () => gateway.gateway.store.listMessages({ limit: 20 })
const numberOf = async (agent: string) => (await summaries()).find(summary => summary.agent === agent)?.message
const showMessageTo = async (agent: string) => {
  await expect.poll(() => numberOf(agent)).toBeDefined()
  await openedPage.show(`message/${await numberOf(agent)}`)
}
const rows = () => page.getByRole('region', { name: 'What happened' }).locator('li')
const rowOf = (name: string): Locator => rows().filter({ hasText: name })
const listNames = () => rows().locator('span.cut').allTextContents()
/** Returns the names of the rows with these beginnings, in their order. */
const listRows = async (...beginnings: readonly string[]) =>
  (await listNames()).filter(name => beginnings.some(beginning => name.startsWith(beginning)))

test('the waterfall has each model request and tool call in order, although people do not see them', async () => {
  await showMessageTo('clerk')
  await expect
    .poll(() => listRows('model ', 'tool '))
    .toEqual(['model test-model', 'tool ask_hook', 'model test-model', 'tool fall', 'model test-model'])
  const { response } = (await gateway.gateway.store.findMessage(`#${await numberOf('clerk')}`)) ?? {}
  expect(response?.parts).toEqual([{ kind: 'text', mime: 'text/markdown', content: 'Both are done.' }])
})

test('the bar of a tool is inside that of its agent, with a mark if the tool failed', async () => {
  const boxOf = async (locator: Locator) => {
    const box = await locator.boundingBox()
    if (!box) throw new Error('there is no bar')
    return box
  }
  const agent = await boxOf(rowOf('clerk answered').locator('.span.agent'))
  for (const [name, kind] of [
    ['tool ask_hook', 'part'],
    ['tool fall', 'broken'],
  ] as const) {
    const bar = await boxOf(rowOf(name).locator(`.span.${kind}`))
    // A bar has a least width, so that it stays visible.
    expect(bar.x).toBeGreaterThanOrEqual(agent.x - 1)
    expect(bar.x).toBeLessThanOrEqual(agent.x + agent.width + 1)
    await expect.poll(() => rowOf(name).locator('.num').textContent()).toMatch(/\d+(\.\d+)? (ms|s)/)
  }
  expect(await rowOf('tool fall').locator('.note.bad').textContent()).toBe('failed')
  expect(await rowOf('tool ask_hook').locator('.note').count()).toBe(0)
})

test('a tool’s call of another agent is a row with its message number, and notes are rows too', async () => {
  const calledNumber = await numberOf('hook')
  await expect.poll(() => rowOf('call @hook@agents.test').locator('.note').textContent()).toBe(`#${calledNumber}`)
  expect(await listRows('note ')).toEqual(['note task'])
})

test('the attempt has its steps as data, and the redacted trace has their times without names', async () => {
  await page.getByRole('tab', { name: 'attempts' }).click()
  await expect.poll(() => page.getByLabel('attempt', { exact: true }).textContent()).toContain('"ask_hook"')
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Redacted trace' }).click(),
  ])
  const text = readFileSync(await download.path(), 'utf8')
  const { turn } = JSON.parse(text) as { turn: { attempts: { tools: { ms: number; ok: boolean }[] }[] } }
  expect(turn.attempts[0]?.tools.map(({ ok }) => ok)).toEqual([true, false])
  expect(text).not.toMatch(/ask_hook|Run both errands|Both are done/)
})

test('the open screen shows the stages and calls of a turn when it ends', async () => {
  const path = join(directory, 'go-on')
  const pendingResult = gateway.simulation.send({ via: 'a2a', to: 'phased', text: path })
  await showMessageTo('phased')
  await rows().first().waitFor()
  expect(await listRows('stage write')).toEqual([])
  writeFileSync(path, '')
  await pendingResult
  await expect
    .poll(() => listRows('stage ', 'call ', 'note '))
    .toEqual(['stage search', 'note task', 'call @hook@agents.test', 'call @nobody@agents.test', 'stage write'])
  await expect.poll(() => rowOf('call @hook@agents.test').locator('.note').textContent()).toMatch(/^#\d+$/)
  const failedElement = rowOf('call @nobody@agents.test')
  expect(await failedElement.locator('.note.bad').textContent()).toMatch(/\S/)
  expect(await failedElement.locator('.span.broken').count()).toBe(1)
  await expect.poll(() => rowOf('stage write').locator('.num').textContent()).toMatch(/\d/)
  expect(openedPage.faults).toEqual([])
})

test('the summary and the facts of `why` name the tools and the failed call', async () => {
  await showMessageTo('clerk')
  const why = page.getByRole('region', { name: 'Why' })
  await expect.poll(() => why.textContent()).toContain('the agent called the tool "fall", which failed')
  await showMessageTo('phased')
  await expect.poll(() => why.textContent()).toMatch(/the agent called @nobody@agents\.test, which failed/)
})
