import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { createGatewayProcess } from '../setup/gateway-process.ts'
import { mountSmallDisk } from '../setup/small-disk.ts'

/** Starts a gateway with these changes to its configuration, and returns the error when it cannot start. */
async function failToStart(changedConfig: object): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'postern-start-'))
  const config = join(directory, 'postern.config.json')
  const ownConfig = {
    dev: true,
    data: directory,
    listen: { port: 0 },
    email: { listen: { port: 0, protocol: 'smtp' } },
  }
  writeFileSync(config, JSON.stringify({ ...ownConfig, ...changedConfig }))
  const gateway = createGatewayProcess(config)
  onTestFinished(() => gateway.kill())
  return gateway.start().then(
    () => 'it started',
    (error: Error) => error.message,
  )
}

async function takePort(): Promise<number> {
  const portHolder = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void portHolder.close())
  await new Promise<void>(resolve => portHolder.once('listening', () => resolve()))
  return (portHolder.address() as AddressInfo).port
}

test('a gateway whose port is in use says so and exits', async () => {
  const port = await takePort()
  const fix = 'Free the port, or set listen.port (POSTERN_LISTEN_PORT) to another one.'
  expect(await failToStart({ listen: { port } })).toContain(
    `the gateway ended with 1: listen: cannot listen on 127.0.0.1:${port} (EADDRINUSE). ${fix}\n`,
  )
})

test('a gateway whose mail port is in use says so and exits', async () => {
  const port = await takePort()
  const fix = 'Free the port, or set email.listen.port (POSTERN_EMAIL_LISTEN_PORT) to another one.'
  expect(await failToStart({ email: { listen: { port, protocol: 'smtp' } } })).toContain(
    `the gateway ended with 1: email.listen: cannot listen on 127.0.0.1:${port} (EADDRINUSE). ${fix}\n`,
  )
})

test('a gateway that cannot create its data directory says so and exits', async () => {
  expect(await failToStart({ data: '/dev/null' })).toContain(
    'the gateway ended with 1: data: "/dev/null" cannot be made a directory. Name a directory that exists or that can be created.\n',
  )
})

test('a gateway whose database is invalid or damaged says so and exits', async () => {
  const data = mkdtempSync(join(tmpdir(), 'postern-start-'))
  const file = join(data, 'postern.db')
  writeFileSync(file, 'no database at all, but long enough to be taken for one'.repeat(100))
  const errorWithoutFile = await failToStart({ data })
  expect(errorWithoutFile).toContain(
    `the gateway ended with 1: data: "${file}" is no database (file is not a database). It must be`,
  )
  expect(errorWithoutFile).not.toContain('    at ')
  const db = new DatabaseSync(`${file}.made`)
  db.exec(`CREATE TABLE t (text TEXT); WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
    INSERT INTO t SELECT i || hex(randomblob(20)) FROM n`)
  db.close()
  const bytes = readFileSync(`${file}.made`).fill(0xee, 8_192)
  writeFileSync(file, bytes)
  const damaged = await failToStart({ data })
  expect(damaged).toMatch(/the gateway ended with 1: data: ".*" is damaged \(.*\)\. Put it back from a backup/)
  expect(damaged).not.toContain('    at ')
}, 60_000)

test('a gateway whose database has disappeared says so and exits', async () => {
  const data = mkdtempSync(join(tmpdir(), 'postern-start-'))
  writeFileSync(join(data, 'postern.db.marker'), '{"starts":3}\n')
  const text = await failToStart({ data })
  expect(text).toContain('is gone, and')
  expect(text).toContain('Put the database back from a backup; to begin anew without it, remove')
})

test('a gateway whose disk is full says so and exits', async () => {
  const disk = mountSmallDisk(2)
  if (!disk) return
  onTestFinished(() => disk.remove())
  disk.fill()
  // The database is the first file written if the token is configured; otherwise the token is written first, and stored there.
  for (const token of [{}, { operator_token: 'of the tests' }]) await checkFullDisk({ data: disk.directory, ...token })
}, 60_000)

async function checkFullDisk(config: object): Promise<void> {
  const text = await failToStart(config)
  expect(text).toMatch(/the gateway ended with 1: data: .*(disk is full|ENOSPC)/)
  expect(text).not.toContain('    at ')
}
