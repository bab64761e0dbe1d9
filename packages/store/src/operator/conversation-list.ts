// Lists conversations with their first and their newest message.
import type { ChannelName } from '@postern/message'
import type { ConversationSummary, OperatorStore } from '@postern/pipeline'
import type { Sql } from '../sql/sql.ts'

interface ConversationRow {
  readonly thread: number
  readonly agent: string
  readonly channel: ChannelName
  readonly sender: string
  readonly first_message: number
  readonly last_message: number
  readonly began_at: string
  readonly last_at: string
}

const messageOfThread = (direction: 'ASC' | 'DESC') =>
  `(SELECT m.seq FROM messages m WHERE m.thread_id = t.id AND m.scope = 'conversation' AND m.kind = 'message'
     ORDER BY coalesce(m.answers, m.seq) ${direction} LIMIT 1)`

export function createConversationList(db: Sql): Pick<OperatorStore, 'listConversations' | 'hasAnswered'> {
  // Threads without a message are left out, such as a thread that a post of an agent has begun.
  const list = db.prepare<ConversationRow>(
    `SELECT t.id AS thread, t.agent, t.channel, json_extract(f.author, '$.address') AS sender, f.seq AS first_message, l.seq AS last_message,
       f.at AS began_at, l.at AS last_at
     FROM threads t JOIN messages f ON f.seq = ${messageOfThread('ASC')} JOIN messages l ON l.seq = ${messageOfThread('DESC')}
     WHERE t.id < ?1 ORDER BY t.id DESC LIMIT +?2`,
  )
  const findAnswer = db.prepare("SELECT 1 FROM messages WHERE kind = 'response' AND agent = ? LIMIT 1")
  return {
    listConversations: ({ after = Number.MAX_SAFE_INTEGER, limit }) =>
      db.read(function* () {
        return (yield* list.all(after, limit)).map(toSummary)
      }),
    hasAnswered: agent =>
      db.read(function* () {
        return (yield* findAnswer.get(agent)) !== undefined
      }),
  }
}

function toSummary({ channel, ...row }: ConversationRow): ConversationSummary {
  return { ...row, via: channel }
}
