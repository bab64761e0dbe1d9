import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { silentLog } from '../../test/open-test-desk.ts'
import { transcriptContract } from '../../test/transcript-contract.ts'
import { openSqliteDesk } from '../index.ts'

const folder = mkdtempSync(join(tmpdir(), 'transcript-'))
afterAll(() => rmSync(folder, { recursive: true }))

transcriptContract('openSqliteDesk()', (now, name) =>
  openSqliteDesk({ path: name === undefined ? ':memory:' : join(folder, name), now, log: silentLog }),
)
