import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs, { cpSync, mkdtempSync, readdirSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { sketchedChannels, sketchIntake } from '@postern/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { discardLog, makeDirectory } from '../../../test/open-test-store.ts'
import { findPendingMigrations, openSqliteStore, readSqliteStore } from '../../index.ts'

const options = { channels: sketchedChannels, now: Date.now, log: discardLog }
const start = (path: string) => openSqliteStore({ ...options, path, exclusive: true })
const read = (path: string) => readSqliteStore({ ...options, path })

async function createStoppedStore(): Promise<string> {
  const path = join(makeDirectory(), 'postern.db')
  const store = await start(path)
  await store.admit(sketchIntake('m1'), 'c')
  await store.close()
  return path
}

/** Creates the files of a killed gateway, whose last writes are in the log. */
async function createKilledStore(): Promise<string> {
  const path = join(makeDirectory(), 'postern.db')
  const store = await start(path)
  await store.admit(sketchIntake('m1'), 'c')
  const target = makeDirectory()
  for (const ending of ['', '-wal', '.lock', '.marker']) cpSync(path + ending, join(target, `postern.db${ending}`))
  await store.close()
  return join(target, 'postern.db')
}

function useTemporaryFolder(): string {
  const folder = mkdtempSync(join(makeDirectory(), 'temporary-'))
  vi.stubEnv('TMPDIR', folder)
  onTestFinished(() => void vi.unstubAllEnvs())
  return folder
}

function replaceForTest<Name extends 'copyFileSync' | 'statfsSync'>(name: Name, by: (typeof fs)[Name]): void {
  const before = fs[name]
  const replace = (value: (typeof fs)[Name]) => {
    fs[name] = value
    syncBuiltinESMExports()
  }
  replace(by)
  onTestFinished(() => replace(before))
}

function countCopies(): () => number {
  const { copyFileSync } = fs
  let copies = 0
  replaceForTest('copyFileSync', (...args) => {
    copies += 1
    copyFileSync(...args)
  })
  return () => copies
}

function runScript(body: string, env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', body], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

test('a reader continues when a gateway starts, and says so once the file changes', async () => {
  const path = await createStoppedStore()
  const reader = await read(path)
  const gateway = await start(path)
  expect(await reader.listMessages({ limit: 5 })).toHaveLength(1)
  for (let number = 2; number < 60; number++) await gateway.admit(sketchIntake(`m${number}`), 'c')
  await gateway.transcript.forgetOwner('nobody')
  await expect(reader.listMessages({ limit: 5 })).rejects.toThrow('Cannot read: the data changed meanwhile')
  await reader.close()
  const next = await read(path)
  expect(await next.listMessages({ limit: 5 })).toHaveLength(5)
  await Promise.all([next.close(), gateway.close()])
})

test('a gateway can start while a command checks whether one runs', async () => {
  const path = await createStoppedStore()
  const asking = runScript(`
    import { DatabaseSync } from 'node:sqlite'
    const lock = new DatabaseSync(${JSON.stringify(`${path}.lock`)}, { readOnly: true })
    lock.exec('BEGIN; SELECT 1 FROM sqlite_schema')
    console.log('asks')
    setTimeout(() => lock.close(), 300)
  `)
  await once(asking.stdout, 'data')
  await (await start(path)).close()
})

test('a reader copies a killed gateway’s files once, and unlinks the copy at once', async () => {
  const path = await createKilledStore()
  const folder = useTemporaryFolder()
  const copies = countCopies()
  const reader = await read(path)
  expect(copies()).toBe(2)
  expect(readdirSync(folder)).toEqual([])
  expect(await reader.listMessages({ limit: 5 })).toHaveLength(1)
  await reader.close()
  expect(findPendingMigrations(path)).toBeUndefined()
  expect(readdirSync(folder)).toEqual([])
})

test('a signal stops a reader that copies the database, and the reader deletes the copy', async () => {
  const path = await createKilledStore()
  const folder = useTemporaryFolder()
  const child = runScript(
    `
    import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    const { copyFileSync } = fs
    fs.copyFileSync = (...args) => {
      copyFileSync(...args)
      process.kill(process.pid, 'SIGTERM')
    }
    syncBuiltinESMExports()
    const { findPendingMigrations } = await import(${JSON.stringify(pathToFileURL(join(import.meta.dirname, '../../index.ts')).href)})
    findPendingMigrations(${JSON.stringify(path)})
    setTimeout(() => {}, 20_000)
  `,
    { TMPDIR: folder },
  )
  expect(await once(child, 'exit')).toEqual([null, 'SIGTERM'])
  expect(readdirSync(folder)).toEqual([])
})

test('a reader refuses a database whose copy does not fit into the temporary folder', async () => {
  const path = await createKilledStore()
  const folder = useTemporaryFolder()
  const { statfsSync } = fs
  replaceForTest('statfsSync', ((at: string) => ({ ...statfsSync(at), bavail: 1 })) as typeof statfsSync)
  await expect(read(path)).rejects.toThrow('has no room for a copy to read. Start the gateway once')
  expect(readdirSync(folder)).toEqual([])
})
