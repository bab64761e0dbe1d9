// Finds a conversation of an agent by the id that the agent uses.

import { impersonalFlags } from '@postern/message'
import type { LookupStore } from '@postern/pipeline'
import { mapInOrder } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'

interface ThreadRow {
  readonly id: number
  readonly scope: string
  readonly key: string
}

export function createConversationLookup(db: Sql): Pick<LookupStore, 'findConversation' | 'findLastMessageTime'> {
  const findById = db.prepare<ThreadRow>('SELECT id, scope, key FROM threads WHERE public_id = ? AND agent = ?')
  // A thread from before the column `public_id` has no such id, so agents use its key.
  const findByKey = db.prepare<ThreadRow>(
    `SELECT t.id, t.scope, t.key FROM thread_aliases a JOIN threads t ON t.id = a.thread_id
     WHERE a.name = ? AND a.agent = ? AND a.is_key = 1 AND t.public_id IS NULL LIMIT 1`,
  )
  const findLast = db.prepare<{ seq: number; principal: string | null }>(
    `SELECT seq, principal FROM messages WHERE thread_id = ? AND scope = 'conversation' AND kind = 'message'
     ORDER BY coalesce(answers, seq) DESC LIMIT 1`,
  )
  // Copies, and messages of lists, forms and programs, may have the address of a person who did not write them.
  const findLastPersonMessage = db.prepare<{ seq: number }>(
    `SELECT seq FROM messages WHERE thread_id = ? AND scope = 'conversation' AND kind = 'message'
       AND (flags IS NULL OR NOT EXISTS (SELECT 1 FROM json_each(flags) WHERE value IN (SELECT value FROM json_each(?))))
     ORDER BY coalesce(answers, seq) DESC LIMIT 1`,
  )
  const impersonal = JSON.stringify(impersonalFlags)
  const listThreads = db.prepare<{ id: number }>(
    "SELECT id FROM threads WHERE lower(scope) = lower(?) AND channel = ? AND agent = ? AND scope <> 'public'",
  )
  const readTime = db.prepare<{ at: string }>('SELECT at FROM messages WHERE seq = ?')
  return {
    findConversation(agent, id) {
      return db.read(function* () {
        const thread = (yield* findById.get(id, agent)) ?? (yield* findByKey.get(id, agent))
        const lastMessage = thread && (yield* findLast.get(thread.id))
        if (!thread || !lastMessage) return undefined
        const { seq: message, principal } = lastMessage
        return { message, scope: thread.scope, key: thread.key, ...(principal !== null && { author: principal }) }
      })
    },
    findLastMessageTime({ agent, via, scope }) {
      return db.read(function* () {
        const threads = yield* listThreads.all(scope, via, agent)
        const lastSeq = Math.max(
          0,
          ...(yield* mapInOrder(threads, function* ({ id }) {
            return (yield* findLastPersonMessage.get(id, impersonal))?.seq ?? 0
          })),
        )
        return lastSeq > 0 ? (yield* readTime.get(lastSeq))?.at : undefined
      })
    },
  }
}
