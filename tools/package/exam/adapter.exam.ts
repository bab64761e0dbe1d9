// Tests a Chat SDK bot with the packed adapter behind a gateway of the packed package.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, inject, test } from 'vitest'
import { environmentOf, runInstalled, startDev } from './program.ts'

const { adapter: folder } = inject('installation')
const node = process.execPath
const environment = { POSTERN_WEBHOOK_SECRET: 'whsec_c2hhcmVkIHNlY3JldCBvZiBib3RoIHNpZGVz' }
const installed = join(folder, 'node_modules/@postern/chat-adapter-postern')
const modules = join(import.meta.dirname, '../../../node_modules')

const bot = `import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { createMemoryState } from '@chat-adapter/state-memory'
import { createPosternAdapter } from '@postern/chat-adapter-postern'
import { Chat } from 'chat'

const adapters = { postern: createPosternAdapter() }
const bot = new Chat({ userName: 'guide', adapters, state: createMemoryState(), logger: 'silent' })
bot.onNewMention(async (thread, message) => {
  await thread.post(\`You said: \${message.text}\`)
})
const server = createServer(async (request, response) => {
  const headers = request.headers as Record<string, string>
  const body = new Uint8Array(await buffer(request))
  const answer = await bot.webhooks.postern(new Request('http://127.0.0.1/', { method: 'POST', headers, body }))
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
})
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
`
const cleanups: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const cleanUp of cleanups.toReversed()) await cleanUp()
})

/** Starts the bot. @returns the port that it listens on */
async function startBot(): Promise<number> {
  const child = spawn(node, ['bot.ts'], {
    cwd: folder,
    env: environmentOf({ node, folder, environment }),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  cleanups.push(async () => {
    child.kill()
    await exited
  })
  const [port] = await once(child.stdout, 'data')
  return Number(port)
}

test('a Chat SDK bot with the adapter answers agents and mail through the gateway', async () => {
  writeFileSync(join(folder, 'bot.ts'), bot)
  const url = `http://127.0.0.1:${await startBot()}/`
  const agents = { guide: { use: 'webhook', url, secret: { env: 'POSTERN_WEBHOOK_SECRET' } } }
  writeFileSync(join(folder, 'postern.config.json'), JSON.stringify({ agents }))
  const gateway = await startDev({ node, folder, environment })
  cleanups.push(gateway.stop)
  for (const via of ['a2a', 'email']) {
    const { output, errors } = await runInstalled(['send', '--via', via, '--to', 'guide', 'hello'], {
      node,
      folder,
      environment,
    })
    expect(errors).toBe('')
    expect(output).toContain('You said: hello')
  }
})

test('the bot and the declarations of the adapter pass the type check', () => {
  const compilerOptions = {
    ...{ target: 'es2024', lib: ['es2024', 'dom', 'dom.iterable'], module: 'nodenext', strict: true, noEmit: true },
    ...{ erasableSyntaxOnly: true, typeRoots: [join(modules, '@types')], types: ['node'] },
  }
  const file = join(folder, 'tsconfig.json')
  writeFileSync(file, JSON.stringify({ compilerOptions, files: ['bot.ts'] }))
  const { stdout } = spawnSync(node, [join(modules, 'typescript/bin/tsc'), '-p', folder], { encoding: 'utf8' })
  expect(stdout.split('\n').filter(line => /^(bot|node_modules\/@postern)/.test(line))).toEqual([])
})

test('the adapter has its licence and README, and no bundled Chat SDK', () => {
  expect(readFileSync(join(installed, 'LICENSE'), 'utf8')).toContain('MIT')
  expect(readFileSync(join(installed, 'README.md'), 'utf8')).toMatch(/^# @postern\/chat-adapter-postern/)
  expect(existsSync(join(installed, 'node_modules'))).toBe(false)
})
