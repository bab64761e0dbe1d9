import type { ChildProcessByStdio } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'

// A process of its own: the test runner loads modules in its own way, and keeps them.

const program = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'postern-reload-'))
const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
/** A file beside the modules by which the slow agent tells that it has begun, and another by which it may end. */
const [begun, released] = [join(folder, 'begun.txt'), join(folder, 'released.txt')]

let child: ChildProcessByStdio<null, Readable, Readable>
let printed = ''
const hear = (words: RegExp) => vi.waitFor(() => expect(printed).toMatch(words), { timeout: 50_000, interval: 50 })

beforeAll(async () => {
  write('words.ts', "export const words: string = 'first'\n")
  write('agent.ts', "import { words } from './words.ts'\nexport const handle = () => words\n")
  write('postern.config.json', JSON.stringify({ agents: { desk: { use: './agent.ts' } } }))
  const ports = { POSTERN_LISTEN_PORT: '0', POSTERN_EMAIL_LISTEN_PORT: '0' }
  child = spawn(process.execPath, [program, 'dev'], {
    cwd: folder,
    env: { ...process.env, ...ports },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (printed += String(chunk)))
  await hear(/^ {2}token\s+\S+$/m)
})
afterAll(async () => {
  const exited = once(child, 'exit')
  child.kill()
  await exited
  rmSync(folder, { recursive: true, force: true })
})

async function ask(): Promise<string | undefined> {
  const url = /listens on (\S+)/.exec(printed)?.[1]
  const token = /^ {2}token\s+(\S+)$/m.exec(printed)?.[1]
  const answer = await fetch(`${url}/operator/api/simulation/send`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({ via: 'a2a', to: 'desk', text: 'hello' }),
  })
  return ((await answer.json()) as { reply?: { text: string } }).reply?.text
}

/** Writes a module and waits for what the gateway makes of it. */
async function change(name: string, text: string, words: RegExp): Promise<void> {
  const before = printed.length
  write(name, text)
  await vi.waitFor(() => expect(printed.slice(before)).toMatch(words), { timeout: 50_000, interval: 50 })
}

test('postern dev opens an agent anew when a module that it imports changes', async () => {
  expect(await ask()).toBe('first')
  await change('words.ts', "export const words: string = 'second'\n", /agents reloaded/)
  expect(await ask()).toBe('second')
})

test('postern dev keeps the agent when a module is broken, and says file, line and column', async () => {
  const broken = "export const words: string = 'third'\nexport const = 3\n"
  await change('words.ts', broken, /agents cannot be reloaded; the former ones go on/)
  expect(printed).toMatch(/agents\.desk\.use: [^\n]*words\.ts:2:\d+ has a syntax error/)
  expect(await ask()).toBe('second')
  await change('words.ts', "export const words: string = 'fourth'\n", /agents reloaded/)
  expect(await ask()).toBe('fourth')
})

test('a turn that runs ends with the agent that began it, while the new one answers others', async () => {
  await change('agent.ts', slowAgent, /agents reloaded/)
  const answer = ask()
  await vi.waitFor(() => expect(existsSync(begun)).toBe(true), { timeout: 50_000 })
  await change('agent.ts', "export const handle = () => 'new'\n", /agents reloaded/)
  expect(await ask()).toBe('new')
  writeFileSync(released, '')
  expect(await answer).toBe('old')
})

const slowAgent = `import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export async function handle() {
  writeFileSync(${JSON.stringify(begun)}, '')
  while (!existsSync(${JSON.stringify(released)})) await sleep(20)
  return 'old'
}
`
