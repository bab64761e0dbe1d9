import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { gatewayOrigin, operatorToken } from '../setup/gateway.ts'
import type { KilledGateway } from '../setup/killed-gateway.ts'
import { openKilledGateway } from '../setup/killed-gateway.ts'

const run = promisify(execFile)
const token = 'token-of-ann-for-the-tests'
const owner = `web:${JSON.stringify([gatewayOrigin, 'ann'])}`
const query = new URLSearchParams({ owner, thread: 'store:moved', format: 'store' })
/** The messages have no ids and no times, so only their positions distinguish them. */
const messages = Array.from({ length: 1_667 }, (_, index) => [
  { type: 'task', content: 'again' },
  { type: 'action', tool: 'ls', args: { index } },
  { type: 'observation', content: `found ${index}` },
]).flat()

const directory = mkdtempSync(join(tmpdir(), 'postern-import-crash-'))
const order = join(directory, 'kill')
/**
 * While the file exists, the process kills itself after the second transaction that writes entries. A killer outside might come too late, and a busy
 * gateway has other transactions of its own.
 */
const preload = `data:text/javascript,${encodeURIComponent(`
import { existsSync, rmSync } from 'node:fs'
import { StatementSync } from 'node:sqlite'
const { run } = StatementSync.prototype
let commits = 0
let hasEntries = false
StatementSync.prototype.run = function (...values) {
  const result = run.apply(this, values)
  hasEntries ||= this.sourceSQL.trimStart().startsWith('INSERT INTO transcript_entries')
  if (this.sourceSQL !== 'COMMIT' || !existsSync(${JSON.stringify(order)}) || !hasEntries) return result
  hasEntries = false
  if ((commits += 1) < 2) return result
  rmSync(${JSON.stringify(order)})
  process.kill(process.pid, 'SIGKILL')
}`)}`

let setup: KilledGateway

beforeAll(async () => {
  const auth = { tokens: [{ name: 'ann', sha256: hash('sha256', token) }] }
  setup = await openKilledGateway({ overrides: { web: { enabled: true, auth } }, directory, preload })
})
afterAll(() => setup.close())

function requestAs(path: string, token: string, body?: object): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return fetch(`${setup.url}${path}`, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) })
}

async function countEntries(): Promise<number> {
  const { used } = (await (await requestAs('/v1/usage', token)).json()) as { used: { entries: number } }
  return used.entries
}

async function runImport(): Promise<{ entries: number; added: number }> {
  const response = await requestAs(`/operator/api/transcript?${query}`, operatorToken, { messages })
  return (await response.json()) as { entries: number; added: number }
}

test('a second import completes one that a kill interrupted, without duplicates', async () => {
  writeFileSync(order, '')
  await expect(runImport()).rejects.toThrow()
  await setup.gateway.waitForExit()
  await setup.gateway.start()
  const remainingEntries = await countEntries()
  expect(remainingEntries).toBeGreaterThan(0)
  expect(remainingEntries).toBeLessThan(messages.length)
  expect(await runImport()).toMatchObject({ entries: messages.length, added: messages.length - remainingEntries })
  expect(await countEntries()).toBe(messages.length)
  const exported = await requestAs(`/operator/api/transcript?${query}`, operatorToken)
  const { messages: stored } = (await exported.json()) as { messages: readonly { gateway?: unknown }[] }
  expect(stored.map(({ gateway: _, ...message }) => message)).toEqual(messages)
  expect(await runImport()).toMatchObject({ entries: messages.length, added: 0 })
})

test('commands read a long conversation line by line, in the same JSON as the API', async () => {
  const lines = await fetch(`${setup.url}/operator/api/transcript?${query}`, {
    headers: { authorization: `Bearer ${operatorToken}`, accept: 'application/x-ndjson' },
  })
  expect(lines.headers.get('content-type')).toBe('application/x-ndjson')
  const exportLines = (await lines.text()).trim().split('\n')
  const { messages: exported } = (await (
    await requestAs(`/operator/api/transcript?${query}`, operatorToken)
  ).json()) as {
    messages: readonly unknown[]
  }
  expect(exportLines.map(line => JSON.parse(line))).toEqual(exported)
  expect(JSON.parse(await runCommand('export', '--format', 'store'))).toEqual(exported)
  const entries = (await runCommand('export', '--format', 'jsonl')).trimEnd().split('\n')
  expect(entries.map(line => (JSON.parse(line) as { seq: number }).seq)).toEqual(exported.map((_, index) => index + 1))
  await expect(runCommand('export', '--format', 'store', '--thread', 'store:nowhere')).rejects.toMatchObject({
    stderr: expect.stringContaining('Cannot find thread: there is no conversation of this name'),
  })
})

const bin = resolve(import.meta.dirname, '../../bin/postern.mjs')

async function runCommand(...args: readonly string[]): Promise<string> {
  const config = ['--config', join(setup.directory, 'postern.config.json')]
  const thread = args.includes('--thread') ? [] : ['--thread', 'store:moved']
  const command = [bin, ...config, ...args, '--owner', owner, ...thread]
  const { stdout } = await run(process.execPath, command, { maxBuffer: 1 << 28 })
  return stdout
}
