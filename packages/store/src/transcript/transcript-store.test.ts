import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sketchedChannels } from '@postern/testing'
import { afterAll } from 'vitest'
import { discardLog } from '../../test/open-test-store.ts'
import { transcriptContract } from '../../test/transcript-contract.ts'
import { openSqliteStore } from '../index.ts'

const folder = mkdtempSync(join(tmpdir(), 'transcript-'))
afterAll(() => rmSync(folder, { recursive: true }))

transcriptContract('openSqliteStore()', (now, name) =>
  openSqliteStore({
    channels: sketchedChannels,
    path: name === undefined ? ':memory:' : join(folder, name),
    now,
    log: discardLog,
  }),
)
