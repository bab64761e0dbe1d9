import { hash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { eventually, operatorToken } from '../setup/gateway.ts'
import type { KilledGateway } from '../setup/killed-gateway.ts'
import { openKilledGateway } from '../setup/killed-gateway.ts'

// These tests set back the clock of a running gateway: everything whose end is now far ahead counts as over.

const apiKey = 'the-key-of-the-tests'
const dayMs = 86_400_000

/** Returns a module that sets the clock of the process at each SIGCONT. */
const createClockModule = (stepsMs: readonly number[]) =>
  `data:text/javascript,${encodeURIComponent(`
    const steps = ${JSON.stringify(stepsMs)}
    const { now } = Date
    let shift = 0
    Date.now = () => now() + shift
    process.on('SIGCONT', () => { shift += steps.shift() ?? 0 })
  `)}`

let directory = ''
let setup: KilledGateway | undefined
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'postern-clock-'))
  process.env.HELD_DIRECTORY = directory
})
afterEach(async () => {
  await setup?.close()
  rmSync(directory, { recursive: true })
})

async function open(stepsMs: readonly number[], overrides: object = {}) {
  setup = await openKilledGateway({
    directory,
    preload: createClockModule(stepsMs),
    overrides: {
      agents: { held: { use: join(import.meta.dirname, '../agents/waiting/held.ts') } },
      a2a: { auth: { api_keys: [{ name: 'tester', sha256: hash('sha256', apiKey) }] } },
      ...overrides,
    },
  })
  return { ...setup, setClock: setup.gateway.resume }
}

interface RpcResponse {
  readonly error?: { readonly code: number; readonly message: string }
  readonly result?: { readonly task: Task }
}
interface Task {
  readonly id: string
  readonly status: { readonly state: string; readonly timestamp: string }
}

async function callA2a(method: string, params: object): Promise<RpcResponse> {
  const headers = { 'content-type': 'application/json', 'a2a-version': '1.0', 'x-api-key': apiKey }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  return (await (await fetch(`${setup?.url}/a2a`, { method: 'POST', headers, body })).json()) as RpcResponse
}

const sendMessage = (words: string, configuration: object = {}) => {
  const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: words }] }
  return callA2a('SendMessage', { message, configuration })
}

async function requestOperator<Answer>(path: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${operatorToken}` }
  return (await (await fetch(`${setup?.url}/operator/api${path}`, { headers })).json()) as Answer
}

test('a sender at a limit may send again after the clock goes back a day', { timeout: 120_000 }, async () => {
  const { setClock } = await open([-dayMs], { limits: { per_identity: 3 } })
  for (let index = 0; index < 3; index += 1) expect((await sendMessage('hello')).error).toBeUndefined()
  expect((await sendMessage('hello')).error?.message).toContain('too many from this sender')
  setClock()
  // The signal takes a moment; without it, this would take a minute.
  await eventually(async () => (await sendMessage('hello')).error === undefined, 20_000)
})

/** Opens a receiver of push notifications that is down at first: it accepts connections and closes them. */
async function openReceiver() {
  const receivedBodies: string[] = []
  let isDown = true
  const server = createServer(async (request, response) => {
    if (isDown) request.destroy()
    else {
      receivedBodies.push(await text(request))
      response.end()
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    bodiesBefore: receivedBodies,
    comeBack: () => {
      isDown = false
    },
  }
}

test('a paused host gets new deliveries after the clock goes back a day', {
  timeout: 120_000,
}, async () => {
  const receiver = await openReceiver()
  const { setClock } = await open([-dayMs], { network: { loopback: { 'hook.test': receiver.port } } })
  const sendWithHook = (message: string) =>
    sendMessage(message, { taskPushNotificationConfig: { url: 'https://hook.test/' } })
  for (let index = 0; index < 8; index += 1) expect((await sendWithHook(`before ${index}`)).error).toBeUndefined()
  const listErrors = async () =>
    (
      await requestOperator<{ readonly items: readonly { readonly last_error?: string }[] }>('/deliveries?limit=50')
    ).items.map(delivery => delivery.last_error)
  await eventually(async () => (await listErrors()).some(error => error?.includes('left alone')))
  receiver.comeBack()
  await sendWithHook('while it is left alone')
  expect(receiver.bodiesBefore).toEqual([])
  setClock()
  await sendWithHook('afterwards')
  await eventually(async () => receiver.bodiesBefore.length > 0)
})

test.each([-dayMs, dayMs])(
  'the timestamps of a task never go back during its turn when the clock steps by %i ms',
  { timeout: 120_000 },
  async stepMs => {
    const { setClock } = await open([stepMs])
    writeFileSync(join(directory, 'held'), 'hold on')
    const { result } = await sendMessage('hold on', { returnImmediately: true })
    const id = result?.task.id
    const states = new Set<string>()
    const readTask = async () => {
      const task = (await callA2a('GetTask', { id })).result as unknown as Task
      states.add(task.status.state)
      return task
    }
    await eventually(async () => (await readTask()).status.state === 'TASK_STATE_WORKING')
    states.clear()
    setClock()
    const deadline = Date.now() + 6_000
    while (Date.now() < deadline) await readTask()
    expect([...states]).toEqual(['TASK_STATE_WORKING'])
    writeFileSync(join(directory, 'held'), '')
    const endedTask = await eventually(async () => {
      const task = await readTask()
      return task.status.state !== 'TASK_STATE_WORKING' && task
    })
    expect(endedTask.status.state).toBe('TASK_STATE_COMPLETED')
    expect(readFileSync(join(directory, 'begun'), 'utf8').trim().split('\n')).toEqual(['hold on'])
  },
)
