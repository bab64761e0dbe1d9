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

interface BackupGateway extends GatewayProcess {
  readonly directory: string
  /** Changes the configuration file. */
  configure(changes: object): void
  postern(...args: readonly string[]): Promise<{ readonly status: number; readonly text: string }>
  requestOperator(path: string): Promise<Record<string, unknown>>
  /** Sends a file to the agent. Returns the status of the task. */
  sendFile(id: string, bytes: Uint8Array): Promise<string>
}

/** Opens a gateway in production mode with one agent and a data folder of its own. */
async function openGateway(overrides: object = {}): Promise<BackupGateway> {
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
    ...overrides,
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
    configure: changes => writeFileSync(path, JSON.stringify({ ...config, ...changes })),
    postern: (...args) => tryCommand(process.execPath, [program, '--config', path, ...args]),
    async requestOperator(route) {
      const response = await fetch(`${url}${route}`, { headers: { authorization: `Bearer ${operatorToken}` } })
      return (await response.json()) as Record<string, unknown>
    },
    async sendFile(id, bytes) {
      const parts = [
        { text: id },
        { raw: Buffer.from(bytes).toString('base64'), mediaType: 'text/plain', filename: id },
      ]
      const response = await fetch(`${url}/agents/echo/a2a/rest/message:send`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'a2a-version': '1.0', 'x-api-key': apiKey },
        body: JSON.stringify({ message: { messageId: id, role: 'ROLE_USER', parts } }),
      })
      return `${response.status} ${await response.text()}`
    },
  }
}

test('a command backs up a running gateway, and another gateway continues with its keys, messages and files', async () => {
  const firstGateway = await openGateway()
  await firstGateway.start()
  const bytes = Buffer.from('a file\n'.repeat(60_000))
  expect(await firstGateway.sendFile('m1', bytes)).toMatch(/^200 .*TASK_STATE_COMPLETED/)
  const keys = await firstGateway.requestOperator('/operator/api/keys')
  const folder = join(firstGateway.directory, 'backup')
  // The backup has the database and the raw bytes, which contain the file.
  const backupRun = await firstGateway.postern('backup', folder)
  expect(backupRun).toMatchObject({ status: 0, text: expect.stringMatching(/^Backed up to .*: 2 files, /) })
  expect(await firstGateway.sendFile('m2', bytes)).toMatch(/^200 /)
  expect((await firstGateway.postern('restore', folder, '--replace')).text).toContain('another gateway is running')
  expect((await firstGateway.postern('restore', folder, '--check')).text).toMatch(/ is complete: 2 files, /)
  await firstGateway.stop()

  const secondGateway = await openGateway()
  const restoreRun = await secondGateway.postern('restore', folder, '--json')
  expect(restoreRun.status, restoreRun.text).toBe(0)
  expect(JSON.parse(restoreRun.text)).toEqual(JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')))
  await secondGateway.start()
  expect(await secondGateway.requestOperator('/operator/api/keys')).toEqual(keys)
  expect(await secondGateway.requestOperator('/operator/api/messages')).toMatchObject({
    items: [{ id: 'm1', state: 'answered' }],
  })
  expect(await secondGateway.sendFile('m1', bytes)).toContain('TASK_STATE_COMPLETED')
  expect(await secondGateway.requestOperator('/operator/api/messages')).toMatchObject({ items: [{ id: 'm1' }] })
  expect((await secondGateway.postern('doctor')).text).toContain('its pages are sound')
}, 120_000)

/** Rotates the keys. Returns the published names of the newest ones. */
async function rotateKeys(gateway: BackupGateway): Promise<readonly string[]> {
  const { text } = await gateway.postern('keys', 'rotate', '--json')
  return (JSON.parse(text) as { readonly keys: readonly { readonly id: string }[] }).keys.map(({ id }) => id)
}

test('after a restore new keys reuse no name from since the backup, even for agents missing in the backup', async () => {
  const gateway = await openGateway()
  const echo = { use: 'builtin:echo' }
  await gateway.start()
  const folder = join(gateway.directory, 'backup')
  await gateway.postern('backup', folder)
  await gateway.stop()
  gateway.configure({ agents: { echo, desk: echo } })
  await gateway.start()
  const keys = (await gateway.requestOperator('/operator/api/keys')).keys as readonly { readonly id: string }[]
  const usedKeyIds = [...(await rotateKeys(gateway)), ...keys.map(({ id }) => id)]
  expect(usedKeyIds.filter(id => id.includes('/agents/desk#main-key'))).toHaveLength(2)
  await gateway.stop()
  expect((await gateway.postern('restore', folder, '--replace')).status).toBe(0)
  await gateway.start()
  const laterKeys = (await gateway.requestOperator('/operator/api/keys')).keys as readonly { readonly id: string }[]
  const ownKeys = laterKeys.map(({ id }) => id).filter(id => id.includes('/agents/desk#'))
  expect(ownKeys).toHaveLength(2)
  expect([...ownKeys, ...(await rotateKeys(gateway))].filter(id => usedKeyIds.includes(id))).toEqual([])
}, 120_000)

test('a restored gateway forgets people again who left after the backup, and lets them write again', async () => {
  const gateway = await openGateway()
  await gateway.start()
  expect(await gateway.sendFile('m1', Buffer.from('words of the tester'))).toMatch(/^200 /)
  const folder = join(gateway.directory, 'backup')
  await gateway.postern('backup', folder)
  const { items } = (await gateway.requestOperator('/operator/api/messages')) as {
    readonly items: readonly { sender: string }[]
  }
  const [{ sender = '' } = {}] = items
  expect((await gateway.postern('forget', sender)).text).toContain('deleted 1 message')
  const list = readFileSync(join(gateway.directory, 'data', 'forgotten'), 'utf8')
  expect(list).not.toContain('tester')
  await gateway.stop()
  expect((await gateway.postern('restore', folder, '--replace')).status).toBe(0)
  await gateway.start()
  expect(await gateway.requestOperator('/operator/api/messages')).toMatchObject({ items: [] })
  expect(await gateway.sendFile('m2', Buffer.from('words of later'))).toMatch(/^200 /)
  await gateway.stop()
  await gateway.start()
  expect(await gateway.requestOperator('/operator/api/messages')).toMatchObject({ items: [{ id: 'm2' }] })
}, 120_000)

test('a backup without a database, or of a damaged one, exits with 1 and an explanation', async () => {
  const gateway = await openGateway()
  const folder = join(gateway.directory, 'backup')
  const failedBackup = await gateway.postern('backup', folder)
  expect(failedBackup).toMatchObject({
    status: 1,
    text: expect.stringMatching(/^data: there is no database ".*postern.db"/),
  })
  expect(existsSync(join(gateway.directory, 'data'))).toBe(false)
  const failedRestore = await gateway.postern('restore', folder)
  expect(failedRestore).toMatchObject({ status: 1, text: expect.stringMatching(/^backup: there is no backup in /) })
})

test('backup and restore print the PostgreSQL commands instead, without the password', async () => {
  const gateway = await openGateway({ store: 'postgres://postern:hunter2@db.test/postern' })
  const backup = await gateway.postern('backup', 'x')
  expect(backup.status).toBe(1)
  expect(backup.text).toContain('pg_dump --format=custom --schema=postern')
  const restore = await gateway.postern('restore', 'x')
  expect(restore.text).toContain("--dbname='postgres://postern@db.test/postern'")
  expect(backup.text + restore.text).not.toContain('hunter2')
})
