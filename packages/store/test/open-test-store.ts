import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Log } from '@postern/core'
import type { StoreUnderTest } from '@postern/testing'
import { sketchedChannels } from '@postern/testing'
import { onTestFinished } from 'vitest'
import type { GatewayStore } from '../src/index.ts'
import { openSqliteStore } from '../src/index.ts'

export const discardLog: Log = { debug() {}, info() {}, warn() {}, error() {} }

/** A directory that is gone after the test. */
export function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'postern-store-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

let made: Promise<string> | undefined

/** A directory with an empty store that was closed: to copy it costs less than to bring each new file through all migrations. */
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

/** A store in a file, with a clock to be set. `reopen` works on a copy of the files as they are: what a crash leaves. */
export async function openStoreUnderTest(): Promise<
  StoreUnderTest & { readonly store: GatewayStore; readonly file: string }
> {
  const directory = makeDirectory()
  cpSync(await findEmptyStore(), join(directory, 'first'), { recursive: true })
  let time = Date.UTC(2026, 5, 1)
  const now = () => time
  const open = (name: string) =>
    openSqliteStore({
      channels: sketchedChannels,
      path: join(directory, name, 'postern.db'),
      now,
      log: discardLog,
      exclusive: true,
    })
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
