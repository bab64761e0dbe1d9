import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually, gatewayOrigin, operatorToken } from '../setup/gateway.ts'
import type { KilledGateway } from '../setup/killed-gateway.ts'
import { openKilledGateway } from '../setup/killed-gateway.ts'

const run = promisify(execFile)
const token = 'token-of-ann-for-the-tests'
const owner = `web:${JSON.stringify([gatewayOrigin, 'ann'])}`
const query = new URLSearchParams({ owner, thread: 'store:moved', format: 'store' })
/** Without ids and without times: only their places tell them apart. */
const messages = Array.from({ length: 6_667 }, (_, index) => [
  { type: 'task', content: 'again' },
  { type: 'action', tool: 'ls', args: { index } },
  { type: 'observation', content: `found ${index}` },
]).flat()

let setup: KilledGateway

beforeAll(async () => {
  const auth = { tokens: [{ name: 'ann', sha256: hash('sha256', token) }] }
  setup = await openKilledGateway({ overrides: { web: { enabled: true, auth } } })
}, 60_000)
afterAll(() => setup.close())

function ask(path: string, as: string, body?: object): Promise<Response> {
  const headers = { authorization: `Bearer ${as}`, 'content-type': 'application/json' }
  return fetch(`${setup.url}${path}`, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) })
}

async function countEntries(): Promise<number> {
  const { used } = (await (await ask('/v1/usage', token)).json()) as { used: { entries: number } }
  return used.entries
}

async function runImport(): Promise<{ entries: number; added: number }> {
  const answer = await ask(`/operator/api/transcript?${query}`, operatorToken, { messages })
  return (await answer.json()) as { entries: number; added: number }
}

test('a second import completes one that a kill interrupted, and nothing is there twice', async () => {
  const cut = runImport().then(
    () => 'whole',
    () => 'cut',
  )
  await eventually(async () => (await countEntries()) > 300)
  await setup.gateway.kill()
  expect(await cut).toBe('cut')
  await setup.gateway.start()
  const left = await countEntries()
  expect(left).toBeGreaterThan(300)
  expect(left).toBeLessThan(messages.length)
  expect(await runImport()).toMatchObject({ entries: messages.length, added: messages.length - left })
  expect(await countEntries()).toBe(messages.length)
  const exported = await ask(`/operator/api/transcript?${query}`, operatorToken)
  const { messages: stored } = (await exported.json()) as { messages: readonly { gateway?: unknown }[] }
  expect(stored.map(({ gateway: _, ...message }) => message)).toEqual(messages)
  expect(await runImport()).toMatchObject({ entries: messages.length, added: 0 })
}, 60_000)

test('commands take a long conversation line by line, and their JSON is the same as that of the API', async () => {
  const lines = await fetch(`${setup.url}/operator/api/transcript?${query}`, {
    headers: { authorization: `Bearer ${operatorToken}`, accept: 'application/x-ndjson' },
  })
  expect(lines.headers.get('content-type')).toBe('application/x-ndjson')
  const read = (await lines.text()).trim().split('\n')
  const { messages: whole } = (await (await ask(`/operator/api/transcript?${query}`, operatorToken)).json()) as {
    messages: readonly unknown[]
  }
  expect(read.map(line => JSON.parse(line))).toEqual(whole)
  expect(JSON.parse(await runCommand('export', '--format', 'store'))).toEqual(whole)
  const entries = (await runCommand('export', '--format', 'jsonl')).trimEnd().split('\n')
  expect(entries.map(line => (JSON.parse(line) as { seq: number }).seq)).toEqual(whole.map((_, index) => index + 1))
  await expect(runCommand('export', '--format', 'store', '--thread', 'store:nowhere')).rejects.toMatchObject({
    stderr: expect.stringContaining('Cannot find thread: there is none of this name'),
  })
}, 60_000)

const bin = resolve(import.meta.dirname, '../../bin/postern.mjs')

async function runCommand(...args: readonly string[]): Promise<string> {
  const config = ['--config', join(setup.directory, 'postern.config.json')]
  const thread = args.includes('--thread') ? [] : ['--thread', 'store:moved']
  const command = [bin, ...config, ...args, '--owner', owner, ...thread]
  const { stdout } = await run(process.execPath, command, { maxBuffer: 1 << 28 })
  return stdout
}
