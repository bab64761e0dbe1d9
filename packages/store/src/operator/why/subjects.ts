import type { WhyStore, WhySubject, WhyWords } from '@postern/core'
import type { Sql } from '../../engine/database.ts'

type FindNumbers = (words: WhyWords) => readonly number[]
type FindByText = (text: string) => readonly number[]

/** What has no index is looked for among as many of the newest entries. */
const recent = 'm.seq > (SELECT max(seq) FROM messages) - 10000'
const newest = 'ORDER BY m.seq DESC LIMIT 10'

/** Which messages an operator means. A peer may number its messages, so its ids come before our numbers. */
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
    async findWhySubject(words) {
      for (const [by, find] of finders) {
        const messages = find(words)
        if (messages.length > 0) return { by, messages }
      }
      return undefined
    },
  }
}

/** What the first of the ids that is known finds. */
function byIds(find: FindByText): FindNumbers {
  return ({ ids }) => {
    for (const id of ids) {
      const found = find(id)
      if (found.length > 0) return found
    }
    return []
  }
}

function prepareFinder(db: Sql, sql: string): (...values: readonly (string | number)[]) => readonly number[] {
  const query = db.prepare<{ number: number }>(sql)
  return (...values) => query.all(...values).map(({ number }) => number)
}

/** Ids of messages, and of our answers to them. A sender who is proven comes first, so that nobody can hide a message behind another one. */
function createNameFinder(db: Sql): FindByText {
  return prepareFinder(
    db,
    `SELECT m.seq AS number FROM thread_aliases n JOIN messages m ON m.seq = n.message AND m.kind = 'message'
     WHERE n.name = ? AND n.is_key = 0
     ORDER BY json_extract(m.envelope, '$.sender.verified') DESC, m.seq LIMIT 10`,
  )
}

/** The id of what a message is about, such as a post: it names the thread. */
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

/** The number of a message, or of the answer to it. */
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

/** The newest to an agent, or from a sender. */
function createAddressFinder(db: Sql): FindNumbers {
  const select = `SELECT m.seq AS number FROM messages m WHERE ${recent} AND m.kind = 'message'`
  const ofAgent = prepareFinder(db, `${select} AND m.agent = ? ${newest}`)
  const ofSender = prepareFinder(db, `${select} AND lower(json_extract(m.author, '$.address')) = ? ${newest}`)
  return ({ agent, sender }) => {
    const found = agent === undefined ? [] : ofAgent(agent)
    return found.length > 0 || sender === undefined ? found : ofSender(sender.toLowerCase())
  }
}

/** What is an id and has no index: what a message is about, our correlation id, a task. */
function createRecentFinder(db: Sql): FindByText {
  const find = prepareFinder(
    db,
    `SELECT m.seq AS number FROM messages m LEFT JOIN tasks k ON k.id = m.task_id
     WHERE ${recent} AND m.kind = 'message' AND (m.object = ?1 OR m.correlation_id = ?1 OR k.native_id = ?1) ${newest}`,
  )
  return id => find(id)
}
