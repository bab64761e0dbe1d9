import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { MessageSummary } from '@postern/pipeline'
import { drawDelays } from '@postern/testing/scale'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually, operatorToken } from '../setup/gateway.ts'
import type { KilledGateway } from '../setup/killed-gateway.ts'
import { openKilledGateway } from '../setup/killed-gateway.ts'

// These tests run kill -9 while an agent waits for another one. The request and its result are on disk, exactly once.

let setup: KilledGateway
const directory = mkdtempSync(join(tmpdir(), 'postern-delegation-'))
const delays = drawDelays({ quick: 2, long: 4, lastMs: 120 })

beforeAll(async () => {
  process.env.HELD_DIRECTORY = directory
  const use = (path: string) => ({ use: fileURLToPath(new URL(path, import.meta.url)) })
  const agents = { manager: use('../agents/calling/foreman.ts'), worker: use('../agents/waiting/held.ts') }
  setup = await openKilledGateway({ overrides: { agents }, directory })
})
afterAll(async () => {
  delete process.env.HELD_DIRECTORY
  await setup.close()
})

const writeHeldTexts = (...args: readonly string[]) => writeFileSync(join(directory, 'held'), args.join('\n'))
const listStartedMessages = () => readFileSync(join(directory, 'begun'), { encoding: 'utf8', flag: 'a+' }).split('\n')

async function requestOperator<Answer>(path: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${operatorToken}` }
  return (await (await fetch(`${setup.url}/operator/api${path}`, { headers })).json()) as Answer
}

interface Row {
  readonly type: string
  readonly turn_id: string
  readonly content?: string
}

async function rowsOf(text: string): Promise<readonly Row[]> {
  const { items: messages } = await requestOperator<{ items: MessageSummary[] }>('/messages?limit=500')
  const message = messages.find(({ agent, preview }) => agent === 'manager' && preview.includes(text))
  const query = new URLSearchParams({ format: 'store', thread: `#${message?.message}` })
  return (await requestOperator<{ messages: readonly Row[] }>(`/transcript?${query}`)).messages
}

async function restart(): Promise<void> {
  await setup.gateway.kill()
  await setup.gateway.start()
}

const typesOf = (rows: readonly Row[]) => rows.map(({ type }) => type)

test('a delegation survives a kill of its worker, and the second try stores it once, with its end (S-31)', {
  timeout: 240_000,
}, async () => {
  const { fediverse } = setup.simulation
  for (const [round, delayMs] of delays.entries()) {
    const message = `apples ${round}`
    writeHeldTexts(message)
    const text = JSON.stringify([
      { note: { type: 'task', content: message } },
      { ask: '@worker@agents.test', say: message },
    ])
    const { objectId } = await fediverse.deliver({ to: '@manager@agents.test', text, visibility: 'direct' })
    await eventually(async () => listStartedMessages().includes(message))
    await restart()
    expect(typesOf(await rowsOf(message))).toEqual(['user_message', 'task', 'delegation'])
    writeHeldTexts()
    // The delays range from before the worker has answered to after the manager has.
    await new Promise(resolve => setTimeout(resolve, delayMs))
    await restart()
    await fediverse.awaitReply(objectId, 30_000)
    const rows = await rowsOf(message)
    expect(typesOf(rows)).toEqual(['user_message', 'task', 'delegation', 'observation', 'assistant_message'])
    expect(rows[3]?.content).toBe(`heard ${message}`)
    expect(new Set(rows.map(({ turn_id }) => turn_id)).size).toBe(1)
  }
})
