import type { LookupStore } from '@postern/core'
import { createBlobLookup } from './blobs/table.ts'
import { createHistoryLookup } from './conversations/history.ts'
import { createMessageLookup } from './conversations/threads.ts'
import type { Sql } from './engine/database.ts'
import { parseJson } from './engine/database.ts'
import type { StoreContext } from './engine/store-context.ts'
import { createContextLookup, createResponseLookup } from './messages/response-lookup.ts'
import type { ReadMessage } from './messages/table.ts'
import { createSecrets } from './secrets.ts'
import { createNoteLookup } from './turns/note-table.ts'

export function createLookupStore(
  context: StoreContext,
  { readMessage }: { readonly readMessage: ReadMessage },
): LookupStore {
  return {
    ...createHistoryLookup(context),
    ...createNoteLookup(context),
    ...createStateLookup(context.db),
    ...createBlobLookup(context),
    ...createResponseLookup(context.db, readMessage),
    ...createContextLookup(context.db, readMessage),
    ...createMessageLookup(context.db),
    ...createSecrets(context),
  }
}

function createStateLookup(db: Sql): Pick<LookupStore, 'readState'> {
  const find = db.prepare<{ state: string }>('SELECT state FROM agent_states WHERE thread_id = ? AND agent = ?')
  return {
    async readState(agent, thread) {
      const row = find.get(thread, agent)
      return row && parseJson(row.state)
    },
  }
}
