// Opens PostgreSQL stores for tests, each in a schema of its own.
import { randomBytes } from 'node:crypto'
import type { StoreUnderTest } from '@postern/testing'
import { sketchedChannels } from '@postern/testing'
import { onTestFinished } from 'vitest'
import type { GatewayStore } from '../../src/index.ts'
import { openPostgresStore } from '../../src/postgres/index.ts'
import { discardLog } from '../open-test-store.ts'
import { testServer } from './test-server.ts'

/** Creates a schema, which a store sees as a database of its own. It is deleted after the test. */
export function makeDatabase(): string {
  const schema = `test_${randomBytes(6).toString('hex')}`
  onTestFinished(() => testServer.drop(schema))
  return `${testServer.url}?schema=${schema}`
}

export function schemaOf(url: string): string {
  return new URL(url).searchParams.get('schema') ?? ''
}

/** Opens a store on PostgreSQL, with a clock that the test sets. `reopen` opens another one beside it, as a second gateway does. */
export async function openPostgresTestStore({
  patienceMs,
}: {
  readonly patienceMs?: number
} = {}): Promise<StoreUnderTest & { readonly store: GatewayStore; readonly url: string }> {
  const url = makeDatabase()
  let time = Date.UTC(2026, 5, 1)
  const open = () =>
    openPostgresStore({ channels: sketchedChannels, url, now: () => time, log: discardLog, maxWaitMs: patienceMs })
  return {
    url,
    store: await open(),
    now: () => time,
    advance: ms => {
      time += ms
    },
    reopen: open,
  }
}
