// Opens SQLite stores for tests, with a clock that the test sets.
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Log } from '@postern/message'
import type { StoreUnderTest } from '@postern/testing'
import { sketchedChannels } from '@postern/testing'
import { onTestFinished } from 'vitest'
import type { GatewayStore } from '../src/index.ts'
import { openSqliteStore } from '../src/index.ts'

export const discardLog: Log = { debug() {}, info() {}, warn() {}, error() {} }

/** Creates a directory that is deleted after the test. */
export function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'postern-store-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

let made: Promise<string> | undefined

/** Returns a directory with an empty, closed store. Copying it costs less than all migrations of a new file. */
function findEmptyStore(): Promise<string> {
  made ??= makeEmptyStore()
  return made
}

async function makeEmptyStore(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'postern-store-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  const options = { channels: sketchedChannels, now: () => Date.UTC(2026, 5, 1), log: discardLog, exclusive: true }
  const store = await openSqliteStore({ ...options, path: join(directory, 'postern.db') })
  await store.close()
  return directory
}

/**
 * Opens a store in a file, with a clock that the test sets. The store is closed after the test. `reopen` works on a copy of the files as they are, as
 * after a crash.
 */
export async function openStoreUnderTest(): Promise<
  StoreUnderTest & { readonly store: GatewayStore; readonly file: string }
> {
  const directory = makeDirectory()
  cpSync(await findEmptyStore(), join(directory, 'first'), { recursive: true })
  let time = Date.UTC(2026, 5, 1)
  const now = () => time
  const open = async (name: string) => {
    const path = join(directory, name, 'postern.db')
    const store = await openSqliteStore({ channels: sketchedChannels, path, now, log: discardLog, exclusive: true })
    onTestFinished(() => store.close())
    return store
  }
  return {
    file: join(directory, 'first', 'postern.db'),
    store: await open('first'),
    now,
    advance: ms => {
      time += ms
    },
    reopen: () => {
      cpSync(join(directory, 'first'), join(directory, 'second'), { recursive: true })
      return open('second')
    },
  }
}
