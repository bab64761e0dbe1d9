// Tests `<postern-chat>` with hostile events.
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestGateway } from '../../setup/gateway.ts'
import { openTestGateway } from '../../setup/gateway.ts'
import { openChromium } from '../console-gateway.ts'
import type { ServedPages } from './serve-pages.ts'
import { serveForeignSite } from './serve-pages.ts'

const attack = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>"'javascript:window.hacked=1`

/** All events that an agent, or an attacker in its place, may send to a chat. */
const events: readonly object[] = [
  { type: 'RUN_STARTED', threadId: attack, runId: attack },
  {
    type: 'MESSAGES_SNAPSHOT',
    messages: [
      { id: 'm', role: 'assistant', content: attack },
      { id: 'n', role: attack, content: attack },
    ],
  },
  { type: '__proto__' },
  { type: 'constructor' },
  { type: 'TEXT_MESSAGE_START', messageId: attack, role: 'assistant' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: attack, delta: `${attack} https://x.test/"onmouseover="window.hacked=1 ` },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: 'nobody', delta: attack },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: attack, delta: { toString: 1 } },
  { type: 'TEXT_MESSAGE_END', messageId: attack },
  { type: 'TEXT_MESSAGE_END', messageId: 'nobody' },
  { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: attack },
  { type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: attack },
  { type: 'TOOL_CALL_RESULT', toolCallId: 'c', content: attack },
  { type: 'CUSTOM', name: 'working', value: { html: attack } },
  {
    type: 'RUN_FINISHED',
    outcome: {
      interrupts: [
        {
          id: 'a',
          reason: 'confirmation',
          message: attack,
          metadata: { title: attack, url: 'javascript:window.hacked=1' },
        },
        { id: 'b', reason: attack, message: { odd: 1 }, metadata: { title: { odd: 1 }, url: 'data:text/html,x' } },
        {
          id: 'c',
          reason: 'tool_call',
          message: 'm',
          metadata: null,
          toolCallId: 'c',
          responseSchema: { properties: { remember: { enum: [attack] } } },
        },
        {
          id: 'd',
          reason: 'tool_call',
          message: 'm',
          metadata: { tool: attack, arguments: { a: attack } },
          responseSchema: { properties: { editedArgs: {} } },
        },
      ],
    },
  },
]

const page = (script: string, element: string) =>
  `<!doctype html><title>t</title><body><script type="module" src="${script}"></script>${element}</body>`

let gateway: TestGateway
let browser: Browser
let site: ServedPages
beforeAll(async () => {
  gateway = await openTestGateway()
  browser = await openChromium()
  site = await serveForeignSite((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    if (pathname === '/agent/runs') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(events.map(event => `data: ${JSON.stringify(event)}\n\n`).join(''))
    } else if (pathname === '/broken/runs') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: {"type":\n\n')
    } else if (pathname === '/refusing/runs') {
      response.writeHead(403, { 'content-type': 'application/json' }).end(JSON.stringify({ detail: attack }))
    } else if (pathname.endsWith('/history')) {
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ messages: [{ id: 1, role: 'user', content: attack }, null] }))
    } else {
      response.setHeader('content-type', 'text/html; charset=utf-8')
      const endpoint = decodeURIComponent(pathname.slice(1))
      const attributes = { endpoint, label: attack, thread: attack }
      const writtenAttributes = Object.entries(attributes).map(
        ([name, value]) => `${name}="${value.replaceAll('"', '&quot;')}"`,
      )
      response.end(
        page(`${gateway.url()}/postern-chat.js`, `<postern-chat ${writtenAttributes.join(' ')}></postern-chat>`),
      )
    }
  })
})
afterAll(async () => {
  await browser.close()
  site.close()
  await gateway.close()
})

async function chatWith(endpoint: string) {
  const openedPage = await (await browser.newContext()).newPage()
  const errors: string[] = []
  openedPage.on('pageerror', error => errors.push(error.message))
  await openedPage.goto(`${site.origin}/${encodeURIComponent(endpoint)}`)
  const chat = openedPage.locator('postern-chat')
  await chat.getByRole('textbox', { name: 'Message' }).fill('hello')
  await chat.getByRole('textbox', { name: 'Message' }).press('Enter')
  const settle = () => expect.poll(() => chat.getByRole('button', { name: 'Send' }).isEnabled()).toBe(true)
  const isHacked = () => openedPage.evaluate(() => (window as unknown as { hacked?: number }).hacked)
  return { openedUrls: openedPage, chat, errors, settle, isHacked }
}

test('the page shows an agent’s answer as text: nothing executes, and links lead only to web pages', async () => {
  const { openedUrls, chat, errors, settle, isHacked } = await chatWith('/agent')
  await chat.locator('.ask').nth(3).waitFor()
  await settle()
  await chat.getByText('<img src=x').first().waitFor()
  expect(await chat.locator('img, script, iframe').count()).toBe(0)
  const links = await chat.locator('a').evaluateAll(links => links.map(link => (link as HTMLAnchorElement).protocol))
  expect(links.length).toBeGreaterThan(0)
  expect(links.every(protocol => /^https?:$/.test(protocol))).toBe(true)
  const handlers = await chat.evaluate(element =>
    [...(element.shadowRoot?.querySelectorAll('*') ?? [])].flatMap(descendant =>
      descendant.getAttributeNames().filter(name => name.startsWith('on')),
    ),
  )
  expect(handlers).toEqual([])
  expect([await isHacked(), errors]).toEqual([undefined, []])
  await openedUrls.context().close()
})

test.each([
  ['an answer that breaks off', '/broken', /JSON/],
  ['a refusal with markup in its words', '/refusing', /<img src=x/],
  ['an endpoint that is a script', 'javascript:window.hacked=1', /./],
  ['an endpoint that is a document', 'data:text/html,<script>window.hacked=1</script>', /./],
])('the page explains %s, and the person may go on', async (_, endpoint, pattern) => {
  const { openedUrls, chat, errors, settle, isHacked } = await chatWith(endpoint)
  await chat.locator('.note.bad').first().waitFor()
  expect(await chat.locator('.note.bad').first().textContent()).toMatch(pattern)
  await settle()
  expect([await isHacked(), errors]).toEqual([undefined, []])
  await openedUrls.context().close()
})
