// Finds the message, task or person about which an operator asks.
import type { WhyQuery, WhyStore, WhySubject } from '@postern/pipeline'
import type { Sql } from '../../sql/sql.ts'

type FindNumbers = (search: WhyQuery) => readonly number[]
type FindByText = (text: string) => readonly number[]

/** The condition of the newest entries, to which a search without an index is limited. */
const isRecent = 'm.seq > (SELECT max(seq) FROM messages) - 10000'
const newest = 'ORDER BY m.seq DESC LIMIT 10'

/** Finds the messages that an operator means. A peer may number its messages, so its ids come before our numbers. */
export function createWhySubjects(db: Sql): Pick<WhyStore, 'findWhySubject'> {
  const finders: readonly (readonly [WhySubject['by'], FindNumbers])[] = [
    ['id', byIds(createNameFinder(db))],
    ['id', byIds(createObjectFinder(db))],
    ['id', byIds(createRequirementFinder(db))],
    ['message', createNumberFinder(db)],
    ['delivery', createDeliveryFinder(db)],
    ['address', createAddressFinder(db)],
    ['id', byIds(createRecentFinder(db))],
  ]
  return {
    async findWhySubject(search) {
      for (const [by, find] of finders) {
        const messages = find(search)
        if (messages.length > 0) return { by, messages }
      }
      return undefined
    },
  }
}

/** Returns a finder that tries the ids in order, until one is known. */
function byIds(find: FindByText): FindNumbers {
  return ({ ids }) => {
    for (const id of ids) {
      const messages = find(id)
      if (messages.length > 0) return messages
    }
    return []
  }
}

function prepareFinder(db: Sql, sql: string): (...values: readonly (string | number)[]) => readonly number[] {
  const query = db.prepare<{ number: number }>(sql)
  return (...values) => query.all(...values).map(({ number }) => number)
}

/**
 * Finds messages by their ids and by those of our answers. Messages of proven senders come first, so that nobody can hide a message behind another
 * one.
 */
function createNameFinder(db: Sql): FindByText {
  return prepareFinder(
    db,
    `SELECT m.seq AS number FROM thread_aliases n JOIN messages m ON m.seq = n.message AND m.kind = 'message'
     WHERE n.name = ? AND n.is_key = 0
     ORDER BY json_extract(m.envelope, '$.sender.verified') DESC, m.seq LIMIT 10`,
  )
}

/** Finds messages by the id of their object, such as a post. That id also names the thread. */
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

/** Finds a message by its number or that of its answer. */
function createNumberFinder(db: Sql): FindNumbers {
  const find = prepareFinder(
    db,
    "SELECT CASE kind WHEN 'response' THEN answers ELSE seq END AS number FROM messages WHERE seq = ? AND kind IN ('message', 'response')",
  )
  return ({ message }) => (message === undefined ? [] : find(message))
}

function createDeliveryFinder(db: Sql): FindNumbers {
  const find = prepareFinder(db, 'SELECT message AS number FROM deliveries WHERE number = ?')
  return ({ delivery }) => (delivery === undefined ? [] : find(delivery))
}

/** Finds the newest messages to an agent, or else those from a sender. */
function createAddressFinder(db: Sql): FindNumbers {
  const select = `SELECT m.seq AS number FROM messages m WHERE ${isRecent} AND m.kind = 'message'`
  const findByAgent = prepareFinder(db, `${select} AND m.agent = ? ${newest}`)
  const findBySender = prepareFinder(db, `${select} AND lower(json_extract(m.author, '$.address')) = ? ${newest}`)
  return ({ agent, sender }) => {
    const messages = agent === undefined ? [] : findByAgent(agent)
    return messages.length > 0 || sender === undefined ? messages : findBySender(sender.toLowerCase())
  }
}

/** Finds recent messages by ids without an index: the object of a message, our correlation id, or a task. */
function createRecentFinder(db: Sql): FindByText {
  const find = prepareFinder(
    db,
    `SELECT m.seq AS number FROM messages m LEFT JOIN tasks k ON k.id = m.task_id
     WHERE ${isRecent} AND m.kind = 'message' AND (m.object = ?1 OR m.correlation_id = ?1 OR k.native_id = ?1) ${newest}`,
  )
  return id => find(id)
}
