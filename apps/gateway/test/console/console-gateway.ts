// Opens a gateway in dev mode and a browser with its console.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { chromium } from 'playwright-core'
import { createLog } from '../../src/observe/log.ts'
import type { SimulatedGateway } from '../../src/running/run.ts'
import { openDev } from '../../src/running/run.ts'
import { operatorToken } from '../setup/gateway.ts'

export interface ConsoleGateway extends SimulatedGateway {
  readonly url: string
  readonly browser: Browser
  /** Opens a page that is signed in, and records its faults. */
  openPage(options?: BrowserContextOptions): Promise<ConsolePage>
  close(): Promise<void>
}

export interface ConsolePage {
  readonly page: Page
  /** Errors of scripts, and requests that the policy blocked. */
  readonly faults: string[]
  /** Opens the screen of a route: the part of the address after the `#`. */
  show(route: string): Promise<void>
}

const agents = fileURLToPath(new URL('../agents/console', import.meta.url))

/** Opens a gateway in dev mode with its simulation, and a browser. */
export async function openConsoleGateway(settings: Record<string, unknown> = {}): Promise<ConsoleGateway> {
  const data = mkdtempSync(join(tmpdir(), 'postern-console-'))
  const config = {
    origin: 'https://agents.test',
    data,
    listen: { port: 0 },
    operator_token: operatorToken,
    agents: { echo: { use: 'builtin:echo' }, desk: { use: './opening-hours.ts' } },
    default_agent: 'desk',
    email: { listen: { port: 0 } },
    delivery: { retry_after: 3600 },
    ...settings,
  }
  const log = createLog({ level: 'silent', readable: false })
  const running = await openDev({ tree: config, baseDir: agents, missingSettings: [], path: undefined }, { log })
  const url = running.listening[0]?.description ?? ''
  const browser = await openChromium()
  return {
    ...running,
    url,
    browser,
    openPage: options => openSignedIn(browser, { url, code: running.gateway.createSignInCode() }, options),
    async close() {
      await browser.close()
      await running.stop()
      rmSync(data, { recursive: true, force: true })
    },
  }
}

export function openChromium(): Promise<Browser> {
  const executablePath = process.env.TEST_CHROMIUM ?? '/usr/bin/chromium'
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
}

/** Opens a page that signs in with a link's code, as `postern dev` prints it. */
export async function openSignedIn(
  browser: Browser,
  { url, code }: { readonly url: string; readonly code: string },
  options: BrowserContextOptions = {},
): Promise<ConsolePage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  const faults = watchFaults(page)
  await page.goto(`${url}/operator/#${code}`)
  await page.getByRole('navigation', { name: 'Screens' }).waitFor()
  return {
    page,
    faults,
    async show(route) {
      await page.evaluate(hash => {
        location.hash = hash
      }, `#/${route}`)
    },
  }
}

/** Collects the errors of a page; each test checks its refused requests itself. */
export function watchFaults(page: Page): string[] {
  const faults: string[] = []
  page.on('pageerror', error => faults.push(error.message))
  page.on('console', message => {
    const text = message.text()
    if (/Content Security Policy|TrustedHTML|Refused to/.test(text)) faults.push(text)
  })
  return faults
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Returns the violations that axe finds on a screen; the page must have been opened with `bypassCSP`. */
export async function findViolations(page: Page): Promise<readonly unknown[]> {
  await page.evaluate(axe)
  return page.evaluate(async () => {
    const { run } = (
      window as unknown as {
        axe: {
          run(
            context: object,
            options: object,
          ): Promise<{ violations: { id: string; nodes: { html: string; any: { message: string }[] }[] }[] }>
        }
      }
    ).axe
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
    const result = await run({ exclude: ['iframe'] }, { runOnly: { type: 'tag', values: tags } })
    return result.violations.map(({ id, nodes }) => [
      id,
      nodes.slice(0, 2).map(({ html, any }) => `${html.slice(0, 160)} ${any[0]?.message ?? ''}`),
    ])
  })
}

/** Returns the elements that are wider than the page. */
export function findWideElements(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const main = document.querySelector('main')
    const boxes = [
      document.documentElement,
      ...(main ? [main, ...main.querySelectorAll('.scroll, .side, .page, .panel:not(.wide), .stack, .item')] : []),
    ]
    return boxes
      .filter(box => box.scrollWidth > box.clientWidth + 1)
      .map(box => `${box.tagName}.${box.className} ${box.scrollWidth}`)
  })
}
