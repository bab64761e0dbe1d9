import type { ChildProcessByStdio } from 'node:child_process'
import { spawn } from 'node:child_process'
import { hash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'

// The test uses a process of its own, because the test runner loads modules in its own way, and caches them.

const program = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'postern-reload-'))
const writeModule = (name: string, text: string) => writeFileSync(join(folder, name), text)
/** A file next to the modules by which the slow agent reports that it has begun, and another one that lets it end. */
const [begunFile, releasedFile, closedFile] = ['begun', 'released', 'closed'].map(name =>
  join(folder, `${name}.txt`),
) as [string, string, string]

let child: ChildProcessByStdio<null, Readable, Readable>
let output = ''
const hear = (pattern: RegExp) => vi.waitFor(() => expect(output).toMatch(pattern), { timeout: 50_000, interval: 50 })

beforeAll(async () => {
  writeModule('words.ts', "export const words: string = 'first'\n")
  writeModule('agent.ts', "import { words } from './words.ts'\nexport const handle = () => words\n")
  writeModule('postern.config.json', configure())
  const ports = { POSTERN_LISTEN_PORT: '0', POSTERN_EMAIL_LISTEN_PORT: '0' }
  child = spawn(process.execPath, [program, 'dev'], {
    cwd: folder,
    env: { ...process.env, ...ports },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (output += String(chunk)))
  await hear(/^ {2}token\s+\S+$/m)
})
afterAll(async () => {
  const exited = once(child, 'exit')
  child.kill()
  await exited
  rmSync(folder, { recursive: true, force: true })
})

function configure(agents: object = {}, overrides: object = {}): string {
  return JSON.stringify({ agents: { desk: { use: './agent.ts' }, ...agents }, ...overrides })
}

/** Finds the gateway's address and the operator's token in what the command has printed. */
function findGateway(): { readonly url: string; readonly token: string } {
  const [, url = ''] = /listens on (\S+)/.exec(output) ?? []
  const [, token = ''] = /^ {2}token\s+(\S+)$/m.exec(output) ?? []
  return { url, token }
}

async function askAgent(to = 'desk', via = 'a2a'): Promise<string | undefined> {
  const { url, token } = findGateway()
  const response = await fetch(`${url}/operator/api/simulation/send`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({ via, to, text: 'hello' }),
  })
  return ((await response.json()) as { reply?: { text: string } }).reply?.text
}

/** Starts a run of the chat, whose events arrive as they happen. */
function openChat(token = findGateway().token): Promise<Response> {
  const messages = [{ id: randomUUID(), role: 'user', content: 'hello' }]
  return fetch(`${findGateway().url}/api/v1/agent/runs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ threadId: randomUUID(), runId: randomUUID(), messages }),
  })
}

/** Writes a module, and waits until the gateway logs the result. */
async function change(name: string, text: string, pattern: RegExp): Promise<void> {
  const outputLength = output.length
  writeModule(name, text)
  await vi.waitFor(() => expect(output.slice(outputLength)).toMatch(pattern), { timeout: 50_000, interval: 50 })
}

test('postern dev reloads an agent when a module that it imports changes', async () => {
  expect(await askAgent()).toBe('first')
  await change('words.ts', "export const words: string = 'second'\n", /agents reloaded/)
  expect(await askAgent()).toBe('second')
})

test('postern dev notices every save of an editor that renames a new file over the old one', async () => {
  for (const text of ['renamed once', 'renamed twice', 'renamed three times']) {
    const outputLength = output.length
    writeModule('words.ts.tmp', `export const words: string = '${text}'\n`)
    renameSync(join(folder, 'words.ts.tmp'), join(folder, 'words.ts'))
    await vi.waitFor(() => expect(output.slice(outputLength)).toMatch(/agents reloaded/), {
      timeout: 50_000,
      interval: 50,
    })
    expect(await askAgent()).toBe(text)
  }
  await change('words.ts', "export const words: string = 'second'\n", /agents reloaded/)
})

test('postern dev keeps the agent when a module does not load, and prints file, line and column', async () => {
  const brokenModule = "export const words: string = 'third'\nexport const = 3\n"
  await change('words.ts', brokenModule, /agents cannot be reloaded; the former ones stay in use/)
  expect(output).toMatch(/agents\.desk\.use: [^\n]*words\.ts:2:\d+ has a syntax error/)
  expect(await askAgent()).toBe('second')
  await change('words.ts', "export const words: string = 'fourth'\n", /agents reloaded/)
  expect(await askAgent()).toBe('fourth')
})

test('a running turn ends with the agent that started it, which only then closes', async () => {
  await change('agent.ts', slowAgent, /agents reloaded/)
  const answer = askAgent()
  await vi.waitFor(() => expect(existsSync(begunFile)).toBe(true), { timeout: 50_000 })
  await change('agent.ts', "export const handle = () => 'new'\n", /agents reloaded/)
  expect(await askAgent()).toBe('new')
  expect(existsSync(closedFile)).toBe(false)
  writeFileSync(releasedFile, '')
  expect(await answer).toBe('old')
  await vi.waitFor(() => expect(existsSync(closedFile)).toBe(true), { timeout: 50_000 })
})

test('postern dev applies changes of the configuration, and ends running work under the old one', async () => {
  for (const path of [begunFile, releasedFile, closedFile]) rmSync(path)
  await change('agent.ts', slowAgent, /agents reloaded/)
  const [answer, stream] = [askAgent(), await openChat()]
  await vi.waitFor(() => expect(existsSync(begunFile)).toBe(true), { timeout: 50_000 })
  const overrides = { limits: { per_identity: 40 } }
  await change(
    'postern.config.json',
    configure({ other: { use: 'builtin:echo' } }, overrides),
    /configuration reloaded/,
  )
  expect(await askAgent('other')).toContain('hello')
  expect(existsSync(closedFile)).toBe(false)
  writeFileSync(releasedFile, '')
  expect(await answer).toBe('old')
  expect(await stream.text()).toContain('"delta":"old"')
  await vi.waitFor(() => expect(existsSync(closedFile)).toBe(true), { timeout: 50_000 })
  expect(await askAgent('other', 'email')).toContain('hello')
})

test('an invalid configuration changes nothing, and the log names its error', async () => {
  const invalidConfig = configure({ other: { use: 'builtin:echo' } }, { limits: { per_identity: -1 }, colour: 'red' })
  const keptPattern = /configuration cannot be reloaded; the former one stays in use/
  await change('postern.config.json', invalidConfig, keptPattern)
  expect(output).toMatch(/limits\.per_identity: [^\n]*colour: is not a known key/)
  expect(await askAgent('other')).toContain('hello')
  await change('postern.config.json', '{"agents": {', keptPattern)
  await change('postern.config.json', configure({ other: { use: './none.ts' } }), keptPattern)
  expect(output).toMatch(/agents\.other\.use: /)
  expect(await askAgent('other')).toContain('hello')
})

test('a port in use keeps the old sockets open', async () => {
  const portHolder = createServer()
  await new Promise<void>(resolve => portHolder.listen(0, '127.0.0.1', resolve))
  const { port } = portHolder.address() as AddressInfo
  const agents = { other: { use: 'builtin:echo' } }
  const keptPattern = /configuration cannot be reloaded; the former one stays in use/
  const grpc = { host: '127.0.0.1', port }
  await change('postern.config.json', configure(agents, { a2a: { grpc } }), keptPattern)
  await new Promise(resolve => portHolder.close(resolve))
  expect(await askAgent('other', 'email')).toContain('hello')
})

test('the log names settings that need a restart, and the gateway applies the others', async () => {
  const settings = { listen: { host: 'localhost' }, data: 'elsewhere', log: { level: 'debug' } }
  const agents = { third: { use: 'builtin:echo' } }
  await change('postern.config.json', configure(agents, settings), /configuration reloaded/)
  expect(output).toMatch(/"settings":\["listen","data","log"\][^\n]*Restart postern dev/)
  expect(await askAgent('third')).toContain('hello')
  expect(await askAgent('other')).toBeUndefined()
  expect(existsSync(join(folder, 'elsewhere'))).toBe(false)
})

test('a file that the configuration names counts as a part of it', async () => {
  const tokens = [{ name: 'ada', sha256: { file: 'digest.txt' } }]
  writeModule('digest.txt', hash('sha256', 'first'))
  await change('postern.config.json', configure({}, { web: { auth: { tokens } } }), /configuration reloaded/)
  expect((await openChat('first')).status).toBe(200)
  await change('digest.txt', hash('sha256', 'second'), /configuration reloaded/)
  expect((await openChat('first')).status).toBe(401)
  expect((await openChat('second')).status).toBe(200)
})

test('an agent keeps its concurrency while a turn of the old configuration still runs', async () => {
  const [runsFile, endedFile] = [join(folder, 'runs.txt'), join(folder, 'ended.txt')]
  const agents = { busy: { use: './busy.ts', concurrency: 1 } }
  writeModule('busy.ts', describeBusy(runsFile, endedFile))
  await change('postern.config.json', configure(agents), /configuration reloaded/)
  const first = askAgent('busy')
  await vi.waitFor(() => expect(readFileSync(runsFile, 'utf8')).toBe('begin '), { timeout: 50_000 })
  await change('postern.config.json', configure(agents, { limits: { per_identity: 41 } }), /configuration reloaded/)
  const second = askAgent('busy')
  await sleep(3_000)
  expect(readFileSync(runsFile, 'utf8')).toBe('begin ')
  writeFileSync(endedFile, '')
  expect([await first, await second]).toEqual(['done', 'done'])
  expect(readFileSync(runsFile, 'utf8')).toBe('begin end begin end ')
})

/** Describes an agent that reports when each of its runs begins and ends. */
function describeBusy(runs: string, endedRuns: string): string {
  return `import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export async function handle() {
  appendFileSync(${JSON.stringify(runs)}, 'begin ')
  while (!existsSync(${JSON.stringify(endedRuns)})) await sleep(20)
  appendFileSync(${JSON.stringify(runs)}, 'end ')
  return 'done'
}
`
}

const slowAgent = `import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export async function handle() {
  writeFileSync(${JSON.stringify(begunFile)}, '')
  while (!existsSync(${JSON.stringify(releasedFile)})) await sleep(20)
  return 'old'
}

export const close = () => writeFileSync(${JSON.stringify(closedFile)}, '')
`
