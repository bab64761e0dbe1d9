// Follows examples/web-page/README.md in a new project and a browser.
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { chromium } from 'playwright-core'
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest'
import { findChromium } from '../../../apps/gateway/test/peers/browser/find-chromium.ts'
import { install } from './install-packages.ts'
import type { DevGateway } from './program.ts'
import { runInstalled, runProgram, startDev } from './program.ts'

const { tarball, folder, nodes } = inject('installation')
const node = nodes.oldest
const project = join(folder, 'shop')
const readme = readFileSync(join(import.meta.dirname, '../../../examples/web-page/README.md'), 'utf8')

/** Reads the command of the README that contains these words, and replaces the ports that it names. */
function readCommand(words: string, ports: Readonly<Record<string, string>>): readonly string[] {
  const [command = ''] = [...readme.matchAll(/`([^`]+)`/g)].flatMap(([, commandText = '']) =>
    commandText.includes(words) ? commandText : [],
  )
  return command.replaceAll(/\b(?:5500|8787)\b/g, port => ports[port] ?? port).split(' ')
}

let gateway: DevGateway
let server: ChildProcess
let browser: Browser
let address: string

beforeAll(async () => {
  browser = await chromium.launch({
    executablePath: await findChromium(folder),
    args: ['--no-sandbox', '--disable-gpu'],
  })
  const initResult = await runInstalled(['init', 'shop', '--agent', 'counter'], { node, folder })
  expect(initResult).toMatchObject({ code: 0, errors: '' })
  await install(project, [tarball])
  const port = await findPort()
  const [copyProgram = '', ...copyArgs] = readCommand('cp -r', {})
  expect(await runProgram(copyProgram, copyArgs, { node, folder: project })).toMatchObject({ code: 0, errors: '' })
  const [setting = ''] = readCommand('npm run dev', { 5500: port })
  const [name = '', value = ''] = setting.split(/=(.*)/)
  gateway = await startDev({ node, folder: project, environment: { [name]: value } })
  const file = join(project, 'web-page/index.html')
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('http://127.0.0.1:8787', gateway.url))
  const [program = '', ...serverCommand] = readCommand('http-server', { 5500: port })
  // The program inherits the environment of the test, because npx may need proxy settings for the registry.
  server = spawn(program, ['--yes', ...serverCommand], { cwd: project, stdio: 'ignore', detached: true })
  address = `http://127.0.0.1:${port}`
  await vi.waitFor(() => fetch(address), { timeout: 90_000, interval: 250 })
})
afterAll(async () => {
  await browser?.close()
  // npx starts the server as its child, so the whole process group must end.
  if (server?.pid && server.exitCode === null) {
    const exited = once(server, 'exit')
    process.kill(-server.pid)
    await exited
  }
  await gateway?.stop()
  rmSync(project, { recursive: true, force: true })
})

test('the page of the example chats with the agent of a new project', async () => {
  const chatPage = await browser.newPage()
  const problems: string[] = []
  chatPage.on('response', answer => answer.status() >= 400 && problems.push(`${answer.status()} ${answer.url()}`))
  chatPage.on('pageerror', error => problems.push(error.message))
  chatPage.on('dialog', dialog => void dialog.accept(gateway.token))
  await chatPage.goto(address)
  const chat = chatPage.locator('postern-chat')
  await chat.getByRole('textbox', { name: 'Message' }).fill('hello from a page')
  await chat.getByRole('textbox', { name: 'Message' }).press('Enter')
  const readMessages = () => chat.locator('.message').allTextContents()
  await expect
    .poll(readMessages, { timeout: 30_000 })
    .toEqual(['hello from a page', expect.stringContaining('hello from a page')])
  await chatPage.reload()
  await expect.poll(async () => (await readMessages()).length, { timeout: 30_000 }).toBe(2)
  expect(problems.filter(problem => !problem.endsWith('/favicon.ico'))).toEqual([])
})

async function findPort(): Promise<string> {
  const portServer = createServer().listen(0, '127.0.0.1')
  await once(portServer, 'listening')
  const { port } = portServer.address() as AddressInfo
  portServer.close()
  await once(portServer, 'close')
  return String(port)
}
