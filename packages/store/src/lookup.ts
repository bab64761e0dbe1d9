import type { ChannelName, LookupStore } from '@postern/core'
import { createBlobLookup } from './blobs/table.ts'
import { createHistoryLookup } from './conversations/history.ts'
import type { Database } from './engine/database.ts'
import { parseJson, prepareQuery } from './engine/database.ts'
import type { StoreContext } from './engine/store-context.ts'
import { createContextLookup, createResponseLookup } from './messages/responses.ts'
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

function createMessageLookup(db: Database): Pick<LookupStore, 'findMessageTo'> {
  const find = prepareQuery<{ message: number; channel: ChannelName; target: string }>(
    db,
    `SELECT m.seq AS message, m.channel, m.target FROM thread_aliases n JOIN messages m ON m.seq = n.message AND m.native_id = n.name AND m.kind = 'message'
     WHERE n.name = ? AND n.agent = ? AND m.forgotten_at IS NULL ORDER BY m.seq DESC LIMIT 1`,
  )
  return {
    async findMessageTo(agent, id) {
      const row = find.get(id, agent)
      return row && { message: row.message, via: row.channel, target: parseJson(row.target) }
    },
  }
}

function createStateLookup(db: Database): Pick<LookupStore, 'readState'> {
  const find = prepareQuery<{ state: string }>(db, 'SELECT state FROM agent_states WHERE thread_id = ? AND agent = ?')
  return {
    async readState(agent, thread) {
      const row = find.get(thread, agent)
      return row && parseJson(row.state)
    },
  }
}
