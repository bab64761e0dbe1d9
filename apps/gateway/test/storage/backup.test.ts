import { hash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findFreePort } from '@postern/testing/free-port'
import { expect, onTestFinished, test } from 'vitest'
import { tryCommand } from '../peers/run-command.ts'
import { operatorToken } from '../setup/gateway.ts'
import type { GatewayProcess } from '../setup/gateway-process.ts'
import { createGatewayProcess } from '../setup/gateway-process.ts'

const program = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url))
const apiKey = 'the-key-of-the-tests'

interface Place extends GatewayProcess {
  readonly directory: string
  postern(...words: readonly string[]): Promise<{ readonly status: number; readonly text: string }>
  ask(path: string): Promise<Record<string, unknown>>
  /** The status of the task by which a file is sent to the agent. */
  sendFile(id: string, bytes: Uint8Array): Promise<string>
}

/** A production gateway with one agent and a data folder of its own. */
async function openPlace(more: object = {}): Promise<Place> {
  const directory = mkdtempSync(join(tmpdir(), 'postern-backup-'))
  const port = await findFreePort()
  const path = join(directory, 'postern.config.json')
  const config = {
    origin: 'https://agents.test',
    listen: { port },
    data: 'data',
    operator_token: operatorToken,
    agents: { echo: { use: 'builtin:echo' } },
    a2a: { auth: { api_keys: [{ name: 'tester', sha256: hash('sha256', apiKey) }] } },
    ...more,
  }
  writeFileSync(path, JSON.stringify(config))
  const gateway = createGatewayProcess(path)
  onTestFinished(async () => {
    await gateway.kill()
    rmSync(directory, { recursive: true, force: true })
  })
  const url = `http://127.0.0.1:${port}`
  return {
    ...gateway,
    directory,
    postern: (...words) => tryCommand(process.execPath, [program, '--config', path, ...words]),
    async ask(route) {
      const answer = await fetch(`${url}${route}`, { headers: { authorization: `Bearer ${operatorToken}` } })
      return (await answer.json()) as Record<string, unknown>
    },
    async sendFile(id, bytes) {
      const parts = [
        { text: id },
        { raw: Buffer.from(bytes).toString('base64'), mediaType: 'text/plain', filename: id },
      ]
      const answer = await fetch(`${url}/agents/echo/a2a/rest/message:send`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'a2a-version': '1.0', 'x-api-key': apiKey },
        body: JSON.stringify({ message: { messageId: id, role: 'ROLE_USER', parts } }),
      })
      return `${answer.status} ${await answer.text()}`
    },
  }
}

test('a command backs up a running gateway, and another one goes on from there with its keys, messages and files', async () => {
  const one = await openPlace()
  await one.start()
  const bytes = Buffer.from('a file\n'.repeat(60_000))
  expect(await one.sendFile('m1', bytes)).toMatch(/^200 .*TASK_STATE_COMPLETED/)
  const keys = await one.ask('/operator/api/keys')
  const folder = join(one.directory, 'backup')
  const taken = await one.postern('backup', folder)
  expect(taken).toMatchObject({ status: 0, text: expect.stringMatching(/^Backed up to .*: 3 files, /) })
  expect(await one.sendFile('m2', bytes)).toMatch(/^200 /)
  expect((await one.postern('restore', folder, '--replace')).text).toContain('another gateway is running')
  expect((await one.postern('restore', folder, '--check')).text).toMatch(/ is whole: 3 files, /)
  await one.stop()

  const two = await openPlace()
  const restored = await two.postern('restore', folder, '--json')
  expect(restored.status, restored.text).toBe(0)
  expect(JSON.parse(restored.text)).toEqual(JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')))
  await two.start()
  expect(await two.ask('/operator/api/keys')).toEqual(keys)
  expect(await two.ask('/operator/api/messages')).toMatchObject({ items: [{ id: 'm1', state: 'answered' }] })
  expect(await two.sendFile('m1', bytes)).toContain('TASK_STATE_COMPLETED')
  expect(await two.ask('/operator/api/messages')).toMatchObject({ items: [{ id: 'm1' }] })
  expect((await two.postern('doctor')).text).toContain('its pages are sound')
}, 120_000)

test('a backup without a database, and of a damaged one, ends with 1 and a sentence', async () => {
  const place = await openPlace()
  const folder = join(place.directory, 'backup')
  const none = await place.postern('backup', folder)
  expect(none).toMatchObject({ status: 1, text: expect.stringMatching(/^data: there is no database ".*postern.db"/) })
  expect(existsSync(join(place.directory, 'data'))).toBe(false)
  const unread = await place.postern('restore', folder)
  expect(unread).toMatchObject({ status: 1, text: expect.stringMatching(/^backup: there is no backup in /) })
})

test('for PostgreSQL both say what to run instead, without the password', async () => {
  const place = await openPlace({ store: 'postgres://postern:hunter2@db.test/postern' })
  const backup = await place.postern('backup', 'x')
  expect(backup.status).toBe(1)
  expect(backup.text).toContain('pg_dump --format=custom --schema=postern')
  const restore = await place.postern('restore', 'x')
  expect(restore.text).toContain("--dbname='postgres://postern@db.test/postern'")
  expect(backup.text + restore.text).not.toContain('hunter2')
})
