// Tests the example with CopilotKit in a browser.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OperatorGateway } from '../../setup/operator-gateway.ts'
import { openOperatorGateway } from '../../setup/operator-gateway.ts'
import { annsToken } from '../../setup/swarm-gateway.ts'
import { openChromium } from '../console-gateway.ts'
import type { ServedPages } from './serve-pages.ts'
import { servePages } from './serve-pages.ts'

// The page of the example as a user builds it: with the packages that it names, but with this gateway.

const example = fileURLToPath(new URL('../../../../../examples/copilotkit', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'postern-copilotkit-'))

let operator: OperatorGateway
let browser: Browser
let pages: ServedPages
beforeAll(async () => {
  cpSync(example, folder, { recursive: true })
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { dependencies: object }
  const dependencies = Object.entries(manifest.dependencies).filter(([name]) => name !== 'postern')
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ ...manifest, dependencies: Object.fromEntries(dependencies) }),
  )
  await runCommand('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'])
  pages = await servePages(join(folder, 'dist'))
  operator = await openOperatorGateway({ origins: [pages.origin], agents: () => ({ help: { use: 'builtin:help' } }) })
  const { gateway } = operator.swarm
  await runCommand(join(folder, 'node_modules/.bin/vite'), ['build', '--logLevel', 'error'], {
    VITE_GATEWAY: gateway.url(),
    VITE_TOKEN: annsToken,
  })
  browser = await openChromium()
}, 600_000)
afterAll(async () => {
  await browser?.close()
  pages?.close()
  await operator?.close()
  rmSync(folder, { recursive: true, force: true })
})

async function runCommand(command: string, parameters: readonly string[], environment: object = {}): Promise<void> {
  const env = { ...process.env, NODE_ENV: 'production', npm_config_include: 'dev', ...environment }
  const child = spawn(command, parameters, { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`Cannot build the page of CopilotKit: ${command} ended with ${code}`)
}

test('the CopilotKit chat reaches an agent of the gateway and shows its answer', async () => {
  const page = await browser.newPage()
  const errors: string[] = []
  page.on('pageerror', error => errors.push(error.message))
  await page.goto(`${pages.origin}/`)
  const input = page.getByRole('textbox').first()
  await input.waitFor()
  await input.fill('tool one two')
  await input.press('Enter')
  await page.getByText('I counted 2 words.').waitFor({ timeout: 60_000 })
  const messages = await operator.swarm.gateway.messages()
  expect(messages.map(({ agent, via, state, preview }) => [agent, via, state, preview])).toContainEqual([
    'help',
    'web',
    'answered',
    'tool one two',
  ])
  expect(errors).toEqual([])
})
