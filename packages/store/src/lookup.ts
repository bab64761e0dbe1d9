import type { DatabaseSync } from 'node:sqlite'
import type { LookupDesk } from '@postern/core'
import { createBlobLookup } from './blobs.ts'
import { parseJson, prepareQuery } from './database.ts'
import { createHistoryLookup } from './history.ts'
import { createResponseLookup } from './responses.ts'
import { createSecrets } from './secrets.ts'
import type { Store } from './store.ts'
import type { Tables } from './tables.ts'

export function createLookupDesk(store: Store, { readMessage }: Tables): LookupDesk {
  return {
    ...createHistoryLookup(store.db),
    ...createStateLookup(store.db),
    ...createBlobLookup(store),
    ...createResponseLookup(store.db, readMessage),
    ...createSecrets(store),
  }
}

function createStateLookup(db: DatabaseSync): Pick<LookupDesk, 'readState'> {
  const find = prepareQuery<{ state: string }>(db, 'SELECT state FROM agent_states WHERE thread_id = ? AND agent = ?')
  return {
    async readState(agent, thread) {
      const row = find.get(thread, agent)
      return row && parseJson(row.state)
    },
  }
}
