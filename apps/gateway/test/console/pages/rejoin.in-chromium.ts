// Tests `<postern-chat>` with broken connections and several tabs.
import type { Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { WebGateway } from '../../setup/web-gateway.ts'
import { openWebGateway } from '../../setup/web-gateway.ts'
import { openChromium } from '../console-gateway.ts'
import type { ServedPages } from './serve-pages.ts'
import { serveForeignSite } from './serve-pages.ts'

let web: WebGateway
let browser: Browser
let site: ServedPages
let proxy: TcpProxy
beforeAll(async () => {
  browser = await openChromium()
  site = await serveForeignSite((request, response) => {
    const { searchParams } = new URL(request.url ?? '/', 'http://localhost')
    const endpoint = `${proxy.url}/api/v1/agent`
    const attributes = `endpoint="${endpoint}" token="token-of-ann-for-the-tests" thread="${searchParams.get('thread')}"`
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end(
      `<!doctype html><title>t</title><script type="module" src="${proxy.url}/postern-chat.js"></script><postern-chat ${attributes}></postern-chat>`,
    )
  })
  web = await openWebGateway({ origins: [site.origin] })
  proxy = await openTcpProxy(Number(new URL(web.gateway.url()).port))
})
afterEach(() => {
  delete process.env.LINGER
})
afterAll(async () => {
  await browser.close()
  site.close()
  proxy.close()
  await web.close()
})

interface TcpProxy {
  readonly url: string
  /** Cuts all connections. */
  cut(): void
  close(): void
}

/** Opens a TCP proxy between the page and the gateway, so that a test can cut the connections. */
async function openTcpProxy(port: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    const gateway = connect(port, '127.0.0.1')
    for (const socket of [client, gateway]) {
      sockets.add(socket)
      socket
        .on('error', () => undefined)
        .on('close', () => {
          sockets.delete(socket)
          client.destroy()
          gateway.destroy()
        })
    }
    client.pipe(gateway).pipe(client)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    cut,
    close() {
      cut()
      server.close()
    },
  }
}

async function openTab(thread: string): Promise<Page> {
  const page = await (await browser.newContext()).newPage()
  await page.goto(`${site.origin}/?thread=${thread}`)
  return page
}

const readMessages = (page: Page) => page.locator('postern-chat .message').allTextContents()

async function sendText(page: Page, text: string): Promise<void> {
  await page.locator('postern-chat').getByRole('textbox', { name: 'Message' }).fill(text)
  await page.locator('postern-chat').getByRole('textbox', { name: 'Message' }).press('Enter')
}

test('a chat whose connection breaks off during an answer shows the complete answer once', async () => {
  process.env.LINGER = '1'
  const page = await openTab('broken')
  await sendText(page, 'linger')
  await expect.poll(() => readMessages(page)).toEqual(['linger', 'begun'])
  proxy.cut()
  await page.waitForTimeout(1_000)
  delete process.env.LINGER
  await expect.poll(() => readMessages(page)).toEqual(['linger', 'begun and done'])
  await expect.poll(() => page.getByRole('button', { name: 'Send' }).isEnabled()).toBe(true)
  await sendText(page, 'count')
  await expect.poll(() => readMessages(page)).toEqual(['linger', 'begun and done', 'count', 'one two three'])
  expect(await page.locator('postern-chat .note').allTextContents()).toEqual([])
  await page.context().close()
})

test('every open tab of a conversation shows messages from other tabs, and each answer as it arrives', async () => {
  const first = await openTab('shared')
  await sendText(first, 'count')
  await expect.poll(() => readMessages(first)).toEqual(['count', 'one two three'])
  const second = await openTab('shared')
  await expect.poll(() => readMessages(second)).toEqual(['count', 'one two three'])
  process.env.LINGER = '1'
  await sendText(first, 'linger')
  await expect.poll(() => readMessages(second)).toEqual(['count', 'one two three', 'linger', 'begun'])
  proxy.cut()
  delete process.env.LINGER
  const lines = ['count', 'one two three', 'linger', 'begun and done']
  for (const page of [first, second]) await expect.poll(() => readMessages(page)).toEqual(lines)
  await sendText(second, 'count')
  for (const page of [first, second])
    await expect.poll(() => readMessages(page)).toEqual([...lines, 'count', 'one two three'])
  for (const page of [first, second]) await page.context().close()
})
