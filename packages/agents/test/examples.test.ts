import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { createGuardedFetch } from '@postern/http'
import type { PartialResponse } from '@postern/message'
import { collectAnswer } from '@postern/pipeline'
import { describe, expect, onTestFinished, test } from 'vitest'
import { signWebhook } from '../src/webhook/write-request.ts'
import { aliceSender, openTestAgent, testContext, testMessage } from './gateway.ts'
import { textOfAnswer } from './model-agent.ts'
import { openModelServer, replyWith, respondWithToolCall } from './model-server.ts'

// Runs the agents of examples/ and checks that each behaves as its opening comment says.

const examples = resolve(import.meta.dirname, '../../../examples')
const padded = 'whsec_c2hhcmVkIHNlY3JldCBvZiBib3RoIHNpZA=='
const secrets = [padded, padded.replaceAll('=', ''), 'plain text']

const runs = (command: string, ...args: readonly string[]) => spawnSync(command, args, { stdio: 'ignore' }).status === 0
const hasPython = runs('python3', '--version')
const hasShell = runs('bash', '--version') && runs('openssl', 'version') && runs('jq', '--version')
const hasSystemd = hasShell && runs('systemd-socket-activate', '--version')

/** Starts the Python example as a person would by hand. */
async function startPython(secret: string): Promise<string> {
  const python = spawn('python3', [resolve(examples, 'python/agent.py'), '0'], {
    env: { ...process.env, WEBHOOK_SECRET: secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void python.kill())
  const [line] = (await once(python.stdout, 'data')) as [Buffer]
  return /http:\S+/.exec(line.toString())?.[0] ?? ''
}

/** Serves the shell example as inetd does, with one process per connection. */
async function startInetd(secret: string): Promise<string> {
  const server = createServer({ allowHalfOpen: true }, socket => serveByShell(socket, secret))
  server.listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

function serveByShell(socket: Socket, secret: string): void {
  const env = { ...process.env, WEBHOOK_SECRET: secret }
  const shell = spawn(resolve(examples, 'shell/agent.sh'), { env, stdio: ['pipe', 'pipe', 'inherit'] })
  socket.pipe(shell.stdin)
  shell.stdout.pipe(socket)
  // The script answers without reading to the end of its input, which may never arrive.
  shell.stdin.on('error', () => undefined)
  socket.on('close', () => shell.kill())
  socket.on('error', () => undefined)
}

/** Starts the shell example under systemd, as its opening comment says. */
async function startSystemd(secret: string): Promise<string> {
  const free = createServer().listen(0, '127.0.0.1')
  await once(free, 'listening')
  const { port } = free.address() as AddressInfo
  free.close()
  await once(free, 'close')
  const args = [
    '-l',
    `127.0.0.1:${port}`,
    '--accept',
    '--inetd',
    '-E',
    'WEBHOOK_SECRET',
    resolve(examples, 'shell/agent.sh'),
  ]
  const activator = spawn('systemd-socket-activate', args, {
    env: { ...process.env, WEBHOOK_SECRET: secret },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  onTestFinished(() => void activator.kill())
  await once(activator.stderr, 'data')
  return `http://127.0.0.1:${port}/`
}

async function ask(agent: Awaited<ReturnType<typeof openTestAgent>>['agent'], text: string, sender = aliceSender) {
  const answer = await agent.handle(testMessage(text, { sender }), testContext())
  return textOfAnswer(await collectAnswer(answer, () => undefined))
}

interface Example {
  readonly name: string
  readonly canRun: boolean
  start(secret: string): Promise<string>
  readonly proven: string
  readonly unproven: string
}

const shellWords = {
  proven: 'The shell heard 3 words from @alice@peer.test.',
  unproven: 'The shell only talks to people whose address is proven.',
}

const webhooks: readonly Example[] = [
  {
    name: 'Python',
    canRun: hasPython,
    start: startPython,
    proven: 'Python heard 3 words from @alice@peer.test (proven by ap-http-signature), after 0 turns.',
    unproven: 'Python heard 3 words from @alice@peer.test (not proven), after 0 turns.',
  },
  { name: 'shell, for each connection', canRun: hasShell, start: startInetd, ...shellWords },
  { name: 'shell, under systemd-socket-activate', canRun: hasSystemd, start: startSystemd, ...shellWords },
]

describe.each(webhooks)('the webhook agent in $name', ({ canRun, start, proven, unproven }) => {
  test.skipIf(!canRun).each(secrets)('answers calls signed with %s', async secret => {
    const { agent } = await openTestAgent({ use: 'webhook', url: await start(secret), secret })
    expect(await ask(agent, 'häll"o  dear\nagent')).toBe(proven)
    expect(await ask(agent, 'x '.repeat(100_000))).toContain(' 100000 words ')
    const stranger = { address: '@alice@peer.test', auth_method: 'none', verified: false } as const
    expect(await ask(agent, 'hello dear agent', stranger)).toBe(unproven)
  })

  test.skipIf(!canRun)('refuses an unsigned, foreign, expired or oversized call', async () => {
    const url = await start(padded)
    const key = Buffer.from('shared secret of both sid')
    const body = JSON.stringify(testMessage('hello'))
    const signed = (now: number, by: Uint8Array = key) => signWebhook({ id: 'msg_1', now, body }, by)
    const fetch = createGuardedFetch({ allowPrivate: [new URL(url).origin], userAgent: 'Postern tests' })
    onTestFinished(fetch.close)
    const statusOf = async (headers: Readonly<Record<string, string>>, sent = body) =>
      (await fetch(url, { method: 'POST', headers, body: sent })).status
    expect(await statusOf(signed(Date.now()))).toBe(200)
    expect(await statusOf({})).toBe(401)
    expect(await statusOf(signed(Date.now(), Buffer.from('other')))).toBe(401)
    expect(await statusOf(signed(Date.now() - 301_000))).toBe(401)
    expect(await statusOf(signed(Date.now()), `${body} `)).toBe(401)
    expect(await statusOf({ ...signed(Date.now()), 'webhook-timestamp': '1e9' })).toBe(401)
    expect(await statusOf({ ...signed(Date.now()), 'webhook-signature': 'v1,' })).toBe(401)
  })
})

test.each([
  ['python3', 'python/agent.py', hasPython],
  ['bash', 'shell/agent.sh', hasShell],
])('the webhook agent of %s (%s) does not start with an empty key', (command, path, canRun) => {
  for (const secret of canRun ? [' ', 'whsec_', 'whsec_=', 'whsec_%%%'] : []) {
    const env = { ...process.env, WEBHOOK_SECRET: secret }
    const { status, stderr } = spawnSync(command, [resolve(examples, path), '0'], { env, encoding: 'utf8', input: '' })
    expect([status, stderr]).toEqual([1, expect.stringContaining('WEBHOOK_SECRET has no key')])
  }
})

test('the TypeScript module names the sender’s proof, and counts per thread', async () => {
  const { agent } = await openTestAgent({ use: resolve(examples, 'typescript/agent.ts') })
  let storedState: unknown
  const state = {
    get: async () => storedState as never,
    set: (value: unknown) => {
      storedState = value
    },
  }
  const askAgent = async (sender = aliceSender): Promise<PartialResponse | undefined> =>
    collectAnswer(await agent.handle(testMessage('hi', { sender }), testContext({ state })), () => undefined)
  expect(textOfAnswer(await askAgent())).toMatch(/^Welcome back to the gateway\. This is message 1 /)
  const claimed = { ...aliceSender, auth_method: 'none', verified: false } as const
  expect(textOfAnswer(await askAgent(claimed))).toMatch(/^Hello\. This is message 2 /)
})

describe('the example of an openai agent', () => {
  const text = readFileSync(resolve(examples, 'openai/postern.config.json'), 'utf8')

  test('answers with its model, prompt and tool', async () => {
    const server = await openModelServer(({ body }) =>
      body.messages.at(-1)?.role === 'tool'
        ? replyWith(`Open: ${body.messages.at(-1)?.content}`)
        : respondWithToolCall('opening_hours', { day: 'Saturday' }),
    )
    onTestFinished(server.close)
    const { shop } = JSON.parse(text).agents
    const prompt = readFileSync(resolve(examples, 'openai', shop.prompt.file), 'utf8').trim()
    const members = { ...shop, prompt, base_url: server.baseUrl }
    const { agent } = await openTestAgent(members, { baseDir: resolve(examples, 'openai') })
    expect(await ask(agent, 'When are you open on Saturday?')).toContain('Open: {"open":"ten to two"}')
    const [request] = server.requests
    expect(request?.body).toMatchObject({ model: 'llama3.2', temperature: 0.3, max_tokens: 600, stream: true })
    expect(request?.body.messages[0]?.content).toContain('You answer for a small shop')
  })

  test('is the same in the documentation', () => {
    const documentation = readFileSync(resolve(examples, '../docs/guides/model.md'), 'utf8')
    expect(documentation).toContain(text.trim())
  })
})

test('the example swarm hands over, calls a tool, and asks before a refund', async () => {
  const config = JSON.parse(readFileSync(resolve(examples, 'swarm/postern.config.json'), 'utf8'))
  const { shop } = config.agents as { readonly shop: { readonly model: object; readonly use: string } }
  const script = [
    respondWithToolCall('navigate_to_refunds', {}),
    respondWithToolCall('look_up', { order: '17' }),
    respondWithToolCall('refund', { order: '17' }),
    { status: 418 },
  ]
  const server = await openModelServer((_, index) => script[index] ?? { status: 418 })
  onTestFinished(server.close)
  const swarm = { ...shop, model: { ...shop.model, base_url: server.baseUrl } }
  const { agent, close } = await openTestAgent(swarm, { baseDir: resolve(examples, 'swarm') })
  onTestFinished(close)
  const said = await agent.handle(testMessage('My money for order 17'), testContext())
  const answer = await collectAnswer(said, () => undefined)
  expect(answer).toMatchObject({ status: 'input_required', speaker: 'refunds' })
  expect(answer?.parts?.at(-1)).toMatchObject({ policy: { message: 'Give the 20.00 for order 17 back?' } })
  expect(server.requests).toHaveLength(3)
})

test('the swarm library answers, reports its steps, and continues at the next run', () => {
  const file = resolve(mkdtempSync(resolve(tmpdir(), 'postern-example-')), 'desk.db')
  const run = () => {
    const result = spawnSync(process.execPath, [resolve(examples, 'transcript/desk.ts'), file], { encoding: 'utf8' })
    return { lines: result.stdout.trimEnd().split('\n'), problems: result.stderr }
  }
  const first = run()
  expect(first).toEqual({
    lines: [
      'ann: Hello',
      '     How can I help?',
      'ann: I want my money back',
      '* refunds takes over',
      '     Noted as number 1.',
      'ann: You idiot',
      '     Politely, please.',
      'ann: The green cup',
      '     Noted as number 2.',
      'notes: I want my money back, The green cup; 2 waiting',
      expect.stringMatching(/^as envelopes: text text text tool_call tool_result /),
    ],
    problems: '',
  })
  expect(run().lines.slice(0, 2)).toEqual(['ann: Hello', '     Noted as number 3.'])
})
