// Assembles the queries of channels and agents.
import type { LookupStore } from '@postern/pipeline'
import { createBlobLookup } from './blobs/blob-table.ts'
import { createNoteLookup } from './messages/notes.ts'
import type { ReadMessage } from './messages/read-message.ts'
import { createContextLookup, createResponseLookup } from './messages/response-lookup.ts'
import { createSecrets } from './secrets.ts'
import { parseJson } from './sql/json-columns.ts'
import type { Sql } from './sql/sql.ts'
import { createConversationLookup } from './threads/conversation-lookup.ts'
import { createHistoryLookup } from './threads/history.ts'
import { createMessageLookup } from './threads/threads.ts'
import type { StoreContext } from './transaction/store-context.ts'

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
    ...createConversationLookup(context.db),
    ...createSecrets(context),
  }
}

function createStateLookup(db: Sql): Pick<LookupStore, 'readState'> {
  const find = db.prepare<{ state: string }>('SELECT state FROM agent_states WHERE thread_id = ? AND agent = ?')
  return {
    readState(agent, thread) {
      return db.read(function* () {
        const row = yield* find.get(thread, agent)
        return row && parseJson(row.state)
      })
    },
  }
}
