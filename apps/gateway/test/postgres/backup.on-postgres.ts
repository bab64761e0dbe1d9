// Tests the backup commands that the CLI advises for PostgreSQL.
import { hash } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Cluster } from '@postern/testing/postgres-cluster'
import { createCluster } from '@postern/testing/postgres-cluster'
import { afterEach, expect, test } from 'vitest'
import { runCommand, tryCommand } from '../peers/run-command.ts'
import type { Pair } from './pair.ts'
import { openPair } from './pair.ts'
import { runSql } from './run-sql.ts'

const program = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url))

let cluster: Cluster | undefined
let pair: Pair | undefined
afterEach(async () => {
  await pair?.close()
  await cluster?.remove()
})

/** Returns the command that `postern backup` or `restore` advises an operator to run. */
async function findAdvice(config: string, command: 'backup' | 'restore'): Promise<string> {
  const { status, text } = await tryCommand(process.execPath, [program, '--config', config, command, 'x'])
  expect(status, text).toBe(1)
  return /^ {2}(pg_.*)$/m.exec(text)?.[1] ?? ''
}

test('the commands that the CLI prints back up and restore a database in use', async () => {
  cluster = await createCluster({ programs: process.env.TEST_POSTGRES_PROGRAMS ?? '' })
  await cluster.start()
  pair = await openPair(cluster.url, { echo: { use: 'builtin:echo' } })
  const [one] = pair.gateways
  expect((await one.send({ id: 'm1', text: 'before' })).text).toContain('before')
  const keys = await one.ask('/keys')
  const cwd = mkdtempSync(join(tmpdir(), 'postern-dump-'))
  const config = join(cwd, 'postern.config.json')
  writeFileSync(config, JSON.stringify({ store: cluster.url, agents: { echo: { use: 'builtin:echo' } } }))
  const password = decodeURIComponent(new URL(cluster.url).password)
  const run = (line: string) =>
    runCommand('sh', ['-c', `PGPASSWORD='${password}' PATH="${process.env.TEST_POSTGRES_PROGRAMS}:$PATH" ${line}`], {
      cwd,
    })
  await run(await findAdvice(config, 'backup'))
  expect((await one.send({ id: 'm2', text: 'after' })).text).toContain('after')
  await Promise.all(pair.gateways.map(gateway => gateway.stop()))
  await run(await findAdvice(config, 'restore'))
  expect(await runSql(cluster.url, "SELECT count(*) FROM postern.messages WHERE kind = 'message'")).toBe('1')
  await one.start()
  expect(hash('sha256', JSON.stringify(await one.ask('/keys')))).toBe(hash('sha256', JSON.stringify(keys)))
  expect(await one.ask('/messages')).toMatchObject({ items: [{ id: 'm1', state: 'answered' }] })
  expect((await one.send({ id: 'm3', text: 'goes on' })).text).toContain('goes on')
}, 120_000)
