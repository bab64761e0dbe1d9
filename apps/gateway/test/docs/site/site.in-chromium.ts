// Tests the built site of the docs in a browser.
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openChromium } from '../../console/console-gateway.ts'
import { listBuiltFiles, listBuiltPages, readBuiltFile, serveBuiltSite } from './built-site.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const pictures = process.env.TEST_PICTURES ?? join(tmpdir(), 'postern-pictures')

/** One page of each kind: the home page, a tutorial, a guide, an explanation and tables. */
const linkedPages = [
  'index.html',
  'start/tutorial.html',
  'guides/one-server.html',
  'explanation/architecture.html',
  'reference/errors.html',
]

let browser: Browser
let site: Awaited<ReturnType<typeof serveBuiltSite>>
beforeAll(async () => {
  mkdirSync(pictures, { recursive: true })
  site = await serveBuiltSite()
  browser = await openChromium()
})
afterAll(async () => {
  await browser.close()
  site.close()
})

/** Opens a page. Records the addresses outside of the site that it requests, and the errors of its scripts. */
async function openPage(options: BrowserContextOptions = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
    ...options,
  })
  const page = await context.newPage()
  const faults: string[] = []
  page.on('request', request => {
    const url = request.url()
    if (!url.startsWith(site.url) && !/^(data|blob):/.test(url)) faults.push(`asks for ${url}`)
  })
  page.on('pageerror', error => faults.push(error.message))
  page.on('response', response => {
    if (response.status() >= 400) faults.push(`${response.status()} ${response.url()}`)
  })
  const show = async (path: string) => {
    await page.goto(`${site.url}/${path}`, { waitUntil: 'load' })
    // The scripts of the page have run at this point.
    await page.locator('.VPSidebarItem .caret[aria-hidden]').first().waitFor({ state: 'attached' })
    await page.evaluate(() => document.fonts.ready)
  }
  return { context, page, faults, show }
}

const widths = [1280, 360]
const themes = ['light', 'dark'] as const

describe.each(themes)('in %s', colorScheme => {
  test.each(widths)('five pages at %i px load nothing from other hosts, pass axe, and fit the width', async width => {
    const { context, page, faults, show } = await openPage({ colorScheme, viewport: { width, height: 800 } })
    const violations: unknown[] = []
    for (const path of linkedPages) {
      await show(path)
      const name = path.replace(/\.html$/, '').replaceAll('/', '-')
      await page.screenshot({ path: join(pictures, `${name}-${width}-${colorScheme}.png`) })
      expect(await page.evaluate(() => document.documentElement.classList.contains('dark'))).toBe(
        colorScheme === 'dark',
      )
      violations.push(...(await findViolations(page)).map(violation => [path, violation]))
      violations.push(...(await findWide(page)).map(box => [path, box]))
    }
    expect(violations).toEqual([])
    expect(faults).toEqual([])
    await context.close()
  })
})

test('every page fits a phone of 360 px', async () => {
  const { context, page, faults, show } = await openPage({ viewport: { width: 360, height: 740 } })
  const wide: unknown[] = []
  for (const path of listBuiltPages()) {
    await show(path)
    wide.push(...(await findWide(page)).map(box => [path, box]))
  }
  expect(wide).toEqual([])
  expect(faults).toEqual([])
  await context.close()
})

test('the search finds a word and opens its page', async () => {
  const { context, page, faults, show } = await openPage()
  await show('index.html')
  await page.getByRole('button', { name: 'Search' }).first().click()
  await page.locator('.VPLocalSearchBox input').fill('signature_invalid')
  await page.locator('.VPLocalSearchBox .result').first().click()
  await page.waitForURL('**/reference/errors.html*')
  // The address changes before the page does.
  await expect.poll(() => page.locator('.VPContent h1').first().innerText()).toMatch(/errors/i)
  expect(faults).toEqual([])
  await context.close()
})

test('the switch makes pages dark, and other pages remember it', async () => {
  const { context, page, show } = await openPage({ colorScheme: 'light' })
  await show('index.html')
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  const light = await background()
  await page.locator('.VPNavBar .VPSwitchAppearance').first().click()
  await expect.poll(background).not.toBe(light)
  await show('reference/errors.html')
  await expect.poll(background).not.toBe(light)
  await context.close()
})

test('a reader can read a page without scripts', async () => {
  const { context, page } = await openPage({ javaScriptEnabled: false })
  await page.goto(`${site.url}/reference/errors.html`)
  expect(await page.locator('.VPContent').innerText()).toContain('rate_limited')
  await context.close()
})

test('every link of the built pages leads to an existing file and heading', () => {
  const files = listBuiltFiles()
  const pages = listBuiltPages()
  const ids = new Map(
    pages.map(path => [path, new Set([...readBuiltFile(path).matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => id))]),
  )
  const lostPaths = pages.flatMap(path =>
    [...readBuiltFile(path).matchAll(/\s(?:href|src)="([^"]+)"/g)].flatMap(([, target = '']) => {
      const url = new URL(target.replaceAll('&amp;', '&'), `http://site/${path}`)
      if (url.host !== 'site') return []
      const file = decodeURIComponent(url.pathname.slice(1)).replace(/(^|\/)$/, '$1index.html')
      const hash = decodeURIComponent(url.hash.slice(1))
      const isThere = files.has(file) && (hash === '' || !ids.has(file) || ids.get(file)?.has(hash))
      return isThere ? [] : [`${path}: ${target}`]
    }),
  )
  expect(lostPaths).toEqual([])
  expect(pages.length).toBeGreaterThan(40)
})

test('programs can load the pages as Markdown', async () => {
  const listing = await (await fetch(`${site.url}/llms.txt`)).text()
  const paths = [...listing.matchAll(/\]\((\/[^)]+)\)/g)].map(([, path]) => path)
  expect(paths.length).toBeGreaterThan(40)
  for (const path of paths) expect([path, (await fetch(`${site.url}${path}`)).status]).toEqual([path, 200])
  expect(await (await fetch(`${site.url}/llms-full.txt`)).text()).toContain('`signature_invalid`')
})

interface AxeResult {
  readonly violations: readonly {
    readonly id: string
    readonly impact: string
    readonly nodes: readonly { readonly html: string; readonly any: readonly { readonly message: string }[] }[]
  }[]
}

/** Returns the violations that axe calls serious or critical. */
async function findViolations(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe)
  return page.evaluate(async () => {
    const { run } = (window as unknown as { axe: { run(context: object, options: object): Promise<AxeResult> } }).axe
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
    const { violations } = await run(document, { runOnly: { type: 'tag', values: tags } })
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 160)} ${nodes[0]?.any[0]?.message ?? ''}`)
  })
}

/** Returns the elements that are wider than the window, by themselves or by their content. */
function findWide(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    const boxes = [...document.querySelectorAll('.vp-doc > div > *')]
    const wideBoxes = boxes.filter(box => box.getBoundingClientRect().right > clientWidth + 1)
    return [
      ...(scrollWidth > clientWidth ? [`the page is ${scrollWidth} px wide`] : []),
      ...wideBoxes.map(box => `${box.tagName} ends at ${Math.round(box.getBoundingClientRect().right)} px`),
    ]
  })
}
