import type { ChannelName, LookupDesk } from '@postern/core'
import { createBlobLookup } from './blobs.ts'
import type { Database } from './database.ts'
import { parseJson, prepareQuery } from './database.ts'
import { createHistoryLookup } from './history.ts'
import { createNoteLookup } from './notes.ts'
import { createContextLookup } from './response-context.ts'
import { createResponseLookup } from './responses.ts'
import { createSecrets } from './secrets.ts'
import type { Store } from './store.ts'
import type { Tables } from './tables.ts'

export function createLookupDesk(store: Store, { readMessage }: Tables): LookupDesk {
  return {
    ...createHistoryLookup(store.db),
    ...createNoteLookup(store.db),
    ...createStateLookup(store.db),
    ...createBlobLookup(store),
    ...createResponseLookup(store.db, readMessage),
    ...createContextLookup(store.db, readMessage),
    ...createMessageLookup(store.db),
    ...createSecrets(store),
  }
}

function createMessageLookup(db: Database): Pick<LookupDesk, 'findMessageTo'> {
  const find = prepareQuery<{ message: number; via: ChannelName; target: string }>(
    db,
    `SELECT m.number AS message, m.via, m.target FROM names n JOIN messages m ON m.number = n.message AND m.id = n.name
     WHERE n.name = ? AND n.agent = ? AND m.forgotten_at IS NULL ORDER BY m.number DESC LIMIT 1`,
  )
  return {
    async findMessageTo(agent, id) {
      const row = find.get(id, agent)
      return row && { ...row, target: parseJson(row.target) }
    },
  }
}

function createStateLookup(db: Database): Pick<LookupDesk, 'readState'> {
  const find = prepareQuery<{ state: string }>(db, 'SELECT state FROM agent_states WHERE thread_id = ? AND agent = ?')
  return {
    async readState(agent, thread) {
      const row = find.get(thread, agent)
      return row && parseJson(row.state)
    },
  }
}
