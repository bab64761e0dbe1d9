// Finds the message, task or person about which an operator asks.
import type { WhyQuery, WhyStore, WhySubject } from '@postern/pipeline'
import type { Operation } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'

type FindNumbers = (search: WhyQuery) => Operation<readonly number[]>
type FindByText = (text: string) => Operation<readonly number[]>

/** The condition that limits a search without an index to the newest entries. */
const recentCondition = 'm.seq > (SELECT max(seq) FROM messages) - 10000'
const newestOrder = 'ORDER BY m.seq DESC LIMIT 10'

/** Creates the search for the messages about which an operator asks. Ids come before row numbers, because some peers number their messages. */
export function createWhySubjects(db: Sql): Pick<WhyStore, 'findWhySubject'> {
  const finders: readonly (readonly [WhySubject['by'], FindNumbers])[] = [
    ['id', tryIds(createNameFinder(db))],
    ['id', tryIds(createObjectFinder(db))],
    ['id', tryIds(createRequirementFinder(db))],
    ['message', createNumberFinder(db)],
    ['delivery', createDeliveryFinder(db)],
    ['address', createAddressFinder(db)],
    ['id', tryIds(createRecentFinder(db))],
  ]
  return {
    findWhySubject(search) {
      return db.read(function* () {
        for (const [by, find] of finders) {
          const messages = yield* find(search)
          if (messages.length > 0) return { by, messages }
        }
        return undefined
      })
    },
  }
}

/** Returns a finder that tries the ids in their order until one finds a message. */
function tryIds(find: FindByText): FindNumbers {
  return function* ({ ids }) {
    for (const id of ids) {
      const messages = yield* find(id)
      if (messages.length > 0) return messages
    }
    return []
  }
}

function prepareFinder(
  db: Sql,
  sql: string,
): (...values: readonly (string | number)[]) => Operation<readonly number[]> {
  const query = db.prepare<{ number: number }>(sql)
  return function* (...values) {
    return (yield* query.all(...values)).map(({ number }) => number)
  }
}

/**
 * Finds messages by their ids and by the ids of their answers. Messages of proven senders come first, so that nobody can hide a message by sending
 * another message with the same id.
 */
function createNameFinder(db: Sql): FindByText {
  return prepareFinder(
    db,
    `SELECT m.seq AS number FROM thread_aliases n JOIN messages m ON m.seq = n.message AND m.kind = 'message'
     WHERE n.name = ? AND n.is_key = 0
     ORDER BY json_extract(m.envelope, '$.sender.verified') DESC, m.seq LIMIT 10`,
  )
}

/** Finds messages by the id of their object, such as a post. That id is also a name of the thread. */
function createObjectFinder(db: Sql): FindByText {
  return prepareFinder(
    db,
    `SELECT m.seq AS number FROM thread_aliases n JOIN messages m ON m.thread_id = n.thread_id AND m.object = n.name
     WHERE n.name = ? AND n.message IS NULL AND m.scope = 'conversation' AND m.kind = 'message' ORDER BY m.seq LIMIT 10`,
  )
}

function createRequirementFinder(db: Sql): FindByText {
  return prepareFinder(db, 'SELECT message AS number FROM requirements WHERE id = ?')
}

/** Finds a message by its own number or by the number of its answer. */
function createNumberFinder(db: Sql): FindNumbers {
  const find = prepareFinder(
    db,
    "SELECT CASE kind WHEN 'response' THEN answers ELSE seq END AS number FROM messages WHERE seq = ? AND kind IN ('message', 'response')",
  )
  return function* ({ message }) {
    return message === undefined ? [] : yield* find(message)
  }
}

function createDeliveryFinder(db: Sql): FindNumbers {
  const find = prepareFinder(db, 'SELECT message AS number FROM deliveries WHERE number = ?')
  return function* ({ delivery }) {
    return delivery === undefined ? [] : yield* find(delivery)
  }
}

/** Finds the newest messages to an agent, or else those from a sender. */
function createAddressFinder(db: Sql): FindNumbers {
  const select = `SELECT m.seq AS number FROM messages m WHERE ${recentCondition} AND m.kind = 'message'`
  const findByAgent = prepareFinder(db, `${select} AND m.agent = ? ${newestOrder}`)
  const findBySender = prepareFinder(db, `${select} AND lower(json_extract(m.author, '$.address')) = ? ${newestOrder}`)
  return function* ({ agent, sender }) {
    const messages = agent === undefined ? [] : yield* findByAgent(agent)
    return messages.length > 0 || sender === undefined ? messages : yield* findBySender(sender.toLowerCase())
  }
}

/** Finds recent messages by ids that have no index. These are ids of objects and tasks, and correlation ids. */
function createRecentFinder(db: Sql): FindByText {
  const find = prepareFinder(
    db,
    `SELECT m.seq AS number FROM messages m LEFT JOIN tasks k ON k.id = m.task_id
     WHERE ${recentCondition} AND m.kind = 'message' AND (m.object = ?1 OR m.correlation_id = ?1 OR k.native_id = ?1) ${newestOrder}`,
  )
  return id => find(id)
}
