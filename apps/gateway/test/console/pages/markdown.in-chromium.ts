// Tests the Markdown of answers in `<postern-chat>`.
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { TestGateway } from '../../setup/gateway.ts'
import { openTestGateway } from '../../setup/gateway.ts'
import { openChromium } from '../console-gateway.ts'
import { xssVectors } from './markdown-vectors.ts'
import type { ServedPages } from './serve-pages.ts'
import { serveForeignSite } from './serve-pages.ts'

interface TestedPage {
  readonly hacked?: number
  readonly MarkdownText: new (
    element: HTMLElement,
  ) => {
    append(chunk: string): void
    end(): void
  }
}

let gateway: TestGateway
let browser: Browser
let site: ServedPages
let page: Page
/** The chunks of the answer that the page's agent returns. */
let answer: readonly string[] = []
/** Says whether the stream ends properly or is cut off. */
let ending: 'whole' | 'cut' = 'whole'
let queries: string[] = []

beforeAll(async () => {
  gateway = await openTestGateway()
  browser = await openChromium()
  site = await serveForeignSite((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    if (pathname === '/agent/runs') {
      const events = [
        { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' },
        ...answer.map(delta => ({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta })),
        ...(ending === 'whole' ? [{ type: 'TEXT_MESSAGE_END', messageId: 'm' }, { type: 'RUN_FINISHED' }] : []),
      ]
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(events.map(event => `data: ${JSON.stringify(event)}\n\n`).join(''))
    } else if (pathname.endsWith('/history')) {
      response.setHeader('content-type', 'application/json').end('{"messages":[]}')
    } else {
      const script = `<script type="module" src="${gateway.url()}/postern-chat.js"></script>`
      response.setHeader('content-type', 'text/html; charset=utf-8')
      const reader = `<script type="module">import { MarkdownText } from '${gateway.url()}/postern-chat/markdown.js'
        window.MarkdownText = MarkdownText</script>`
      response.end(`<!doctype html><title>t</title>${script}${reader}<postern-chat endpoint="/agent"></postern-chat>`)
    }
  })
})
afterAll(async () => {
  await browser.close()
  site.close()
  await gateway.close()
})
beforeEach(async () => {
  await page?.context().close()
  page = await (await browser.newContext()).newPage()
  queries = []
  ending = 'whole'
  page.on('request', request => queries.push(request.url()))
  await page.goto(site.origin)
})

/** Returns the answer's element, once the chat has shown the whole answer. */
async function answerWith(...pieces: readonly string[]) {
  answer = pieces
  const chat = page.locator('postern-chat')
  await chat.getByRole('textbox', { name: 'Message' }).fill('hello')
  await chat.getByRole('textbox', { name: 'Message' }).press('Enter')
  await expect.poll(() => chat.getByRole('button', { name: 'Send' }).isEnabled()).toBe(true)
  return chat.locator('.markdown')
}

const everyKind = `# Opening hours

Open **daily**, *not* ~~Sundays~~, see [the page](https://shop.example/hours?day=1&b=2 "Hours") or https://shop.example/map.
Run \`npm <start>\`.

| day | from | to |
| --- | :-: | --: |
| Mon | 9 | 17 |

- one
- two
  1. inner

> quoted

\`\`\`js
const a = '<b>' // *no emphasis*
\`\`\`

![A map](https://maps.example/x.png) and [a reference][1].

***

[1]: https://shop.example/reference`

test('a Markdown answer shows headings, text, links, tables, lists, quotes and code, and loads nothing', async () => {
  const element = await answerWith(everyKind)
  expect(await element.locator('h3').textContent()).toBe('Opening hours')
  expect(await element.locator('strong, em, s').allTextContents()).toEqual(['daily', 'not', 'Sundays'])
  const links = await element
    .locator('a')
    .evaluateAll(links =>
      links.map(a => ['href', 'rel', 'target'].map(name => a.getAttribute(name)).concat(a.textContent)),
    )
  expect(links).toEqual(
    [
      ['https://shop.example/hours?day=1&b=2', 'the page'],
      ['https://shop.example/map', 'https://shop.example/map'],
      ['https://maps.example/x.png', 'A map'],
      ['https://shop.example/reference', 'a reference'],
    ].map(([href, text]) => [href, 'noopener noreferrer nofollow', '_blank', text]),
  )
  expect(await element.locator('p code').textContent()).toBe('npm <start>')
  expect(await element.locator('pre').textContent()).toBe("const a = '<b>' // *no emphasis*\n")
  expect(
    await element.locator('tr').evaluateAll(rows => rows.map(row => [...row.children].map(c => c.textContent))),
  ).toEqual([
    ['day', 'from', 'to'],
    ['Mon', '9', '17'],
  ])
  expect(
    await element
      .locator('td')
      .nth(2)
      .evaluate(cell => getComputedStyle(cell).textAlign),
  ).toBe('right')
  expect(await element.locator('li li').textContent()).toBe('inner')
  expect(await element.locator('blockquote').textContent()).toBe('quoted')
  expect(await element.locator('hr').count()).toBe(1)
  expect(queries.filter(url => !url.startsWith(site.origin) && !url.startsWith(gateway.url()))).toEqual([])
})

test('the page shows a person’s message as plain text', async () => {
  await answerWith('yes')
  const chat = page.locator('postern-chat')
  await chat.getByRole('textbox', { name: 'Message' }).fill('**no** `code` [a](https://b.example)\n# x')
  await chat.getByRole('textbox', { name: 'Message' }).press('Enter')
  const ownElement = chat.locator('.own').nth(1)
  await expect.poll(() => ownElement.textContent()).toBe('**no** `code` [a](https://b.example)\n# x')
  expect(await ownElement.locator(':not(a)').count()).toBe(0)
})

const madeTags = 'a p h3 h4 h5 h6 blockquote ul ol li pre code table thead tbody tr th td em strong s br hr div'.split(
  ' ',
)
const madeAttributes = 'href title target rel dir class tabindex start'.split(' ')

test('no markup, script, URL or attribute of an answer enters the page, whole or in single characters', async () => {
  for (const pieces of [
    [xssVectors.join('\n\n')],
    [...xssVectors.join('\n\n')],
    xssVectors.map(xssVector => `${xssVector} `),
  ]) {
    await page.goto(site.origin)
    const shownElement = await answerWith(...pieces)
    await page.evaluate(() => {
      const chat = document.querySelector('postern-chat')?.shadowRoot
      for (const descendant of chat?.querySelectorAll<HTMLElement>('.markdown *') ?? []) {
        descendant.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }))
        descendant.dispatchEvent(new FocusEvent('focus'))
      }
    })
    const elements = await shownElement.evaluate(element =>
      [...element.querySelectorAll('*')].map(descendant => ({
        tag: descendant.localName,
        names: descendant.getAttributeNames(),
        href: descendant.getAttribute('href'),
        className: descendant.className,
      })),
    )
    expect(elements.length).toBeGreaterThan(20)
    expect([...new Set(elements.map(({ tag }) => tag))].filter(tag => !madeTags.includes(tag))).toEqual([])
    expect(elements.flatMap(({ names }) => names).filter(name => !madeAttributes.includes(name))).toEqual([])
    expect(
      elements.map(({ className }) => className).filter(className => !/^(|table|center|right|plain)$/.test(className)),
    ).toEqual([])
    const hrefs = elements.flatMap(({ href }) => href ?? [])
    expect(hrefs.filter(href => !/^(https?:\/\/|mailto:)/.test(href))).toEqual([])
    expect(await page.evaluate(() => (window as unknown as TestedPage).hacked)).toBeUndefined()
    // The text is complete: the refused markup is shown as text.
    const text = (await shownElement.textContent()) ?? ''
    for (const message of ['<script>', 'javascript:', 'data:text/html', 'onerror=', '<svg', '<iframe'])
      expect(text).toContain(message)
  }
  expect(queries.filter(url => !url.startsWith(site.origin) && !url.startsWith(gateway.url()))).toEqual([])
})

test('a stream that breaks off keeps all received text', async () => {
  ending = 'cut'
  const element = await answerWith('Look at [the pa', 'ge](https://shop.exa')
  expect(await element.textContent()).toBe('Look at [the page](https://shop.exa')
})

/** Gives the text in chunks to the element's own reader. Returns what it showed after each chunk, and for the whole text at once. */
function showInPieces(pieces: readonly string[], waitMs = 15) {
  return page.evaluate(
    async ([all, wait]) => {
      const { MarkdownText } = window as unknown as TestedPage
      const [element, other] = [document.createElement('div'), document.createElement('div')]
      const text = new MarkdownText(element)
      const states: string[] = []
      for (const chunk of all) {
        text.append(chunk)
        await new Promise(resolve => setTimeout(resolve, wait))
        states.push(element.innerHTML)
      }
      text.end()
      const atOnce = new MarkdownText(other)
      atOnce.append(all.join(''))
      atOnce.end()
      return { states, streamed: element.innerHTML, atOnce: other.innerHTML }
    },
    [pieces, waitMs] as const,
  )
}

test('a stream in single characters ends like the whole text, and never shows half of a construct', async () => {
  const { states, streamed, atOnce } = await showInPieces([...everyKind, '\r', '\n', '\r', '\n', ...'#tag'])
  expect(streamed).toBe(atOnce)
  expect(new Set(states).size).toBeGreaterThan(60)
  const text = states.join('\n')
  const hrefs = new Set([...text.matchAll(/href="([^"]*)"/g)].map(([, href]) => href))
  expect([...hrefs].sort()).toEqual([
    'https://maps.example/x.png',
    'https://shop.example/hours?day=1&amp;b=2',
    'https://shop.example/map',
  ])
  // Only the reference is shown as written, because the last line defines it.
  const message = text.replaceAll(/<code>.*?<\/code>/gs, '').replaceAll(/<[^>]*>|\[a reference\](?:\[1\])?|#ta?g?/g, '')
  expect(message.match(/.{0,40}[|*~`[\]#].{0,40}/g) ?? []).toEqual([])
})

test.each([53, 1_009])('hostile text in chunks of %i characters ends like the whole text', async size => {
  const text = [...xssVectors, everyKind].join('\n\n')
  const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  )
  const { streamed, atOnce } = await showInPieces(pieces, 0)
  expect(streamed).toBe(atOnce)
})

const piecesOf = (blocks: number) => {
  const text = Array.from(
    { length: blocks },
    (_, index) => `Line **${index}** of [a page](https://shop.example/${index}).\n\n`,
  )
  return [...text, '```\n', ...Array.from({ length: blocks }, () => 'code of a line\n'), '```\n'].flatMap(line => [
    line.slice(0, 9),
    line.slice(9),
  ])
}

test('eight times as many chunks take at most 24 times as long', async () => {
  const measure = (pieces: readonly string[]) =>
    page.evaluate(async all => {
      const { MarkdownText } = window as unknown as TestedPage
      const element = document.createElement('div')
      document.body.append(element)
      const text = new MarkdownText(element)
      const channel = new MessageChannel()
      const turn = () =>
        new Promise(resolve => {
          channel.port1.onmessage = resolve
          channel.port2.postMessage(0)
        })
      const startedAt = performance.now()
      for (const chunk of all) {
        text.append(chunk)
        await turn()
      }
      text.end()
      const took = performance.now() - startedAt
      const links = element.querySelectorAll('a').length
      element.remove()
      return { took, links }
    }, pieces)
  await measure(piecesOf(200))
  const [few, many] = [await measure(piecesOf(1_000)), await measure(piecesOf(8_000))]
  expect([few.links, many.links]).toEqual([1_000, 8_000])
  expect(many.took / few.took).toBeLessThan(24)
})
