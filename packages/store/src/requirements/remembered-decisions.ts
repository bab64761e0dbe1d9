// Stores decisions that also count for later requirements.
import type {
  ListedDecision,
  RememberedDecision,
  RememberedStore,
  RequirementDecision,
  RequirementRecord,
} from '@postern/pipeline'
import {
  formatDeciderKey,
  listRememberedIds,
  maxRememberedDecisions,
  planRemembered,
  rememberedDecisionKind,
  rememberedDecisionSchema,
} from '@postern/pipeline'
import { formatJson, parseJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import { flatMapInOrder, mapInOrder } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'

/** The table of decisions that count for later calls. They are stored as records. The members are operations. */
export interface RememberedTable {
  /** Stores a decision if it is to be remembered, inside the write that resolves the requirement. */
  remember(requirement: RequirementRecord, decision: RequirementDecision, now: number): Operation<void>
  list(
    filter: Parameters<RememberedStore['listRememberedDecisions']>[0],
    now: number,
  ): Operation<readonly ListedDecision[]>
  find(key: { readonly agent: string; readonly id: string }, now: number): Operation<RememberedDecision | undefined>
  /** Finds the remembered decision on a requirement if the decision still counts. */
  findByRequirement(requirement: RequirementRecord, now: number): Operation<RememberedDecision | undefined>
  remove(key: { readonly agent: string; readonly id: string }): Operation<boolean>
}

interface RecordRow {
  readonly id: number
  readonly value: string
}

const formatOwner = (agent: string) => `agent:${agent}`

export function createRememberedTable(db: Sql): RememberedTable {
  const queries = prepareRememberedQueries(db)

  function* findByKey({ agent, id }: { readonly agent: string; readonly id: string }, now: number) {
    const row = yield* queries.find.get(rememberedDecisionKind, formatOwner(agent), id, now)
    return row && readRemembered(row.value)
  }

  return {
    *remember(requirement, decision, now) {
      const asker = yield* queries.findAsker.get(requirement.message)
      const plannedRecord = asker && planRemembered(requirement, decision, { sender: parseJson(asker.sender), now })
      if (!plannedRecord) return
      const { recordKey, value, expiresAt } = plannedRecord
      const [kind, owner, key] = [recordKey.kind, recordKey.owner, recordKey.key] as const
      const person = formatDeciderKey(asker.channel, requirement.address)
      // A decision for one conversation is deleted with the conversation.
      const message = value.scope === 'conversation' ? requirement.message : null
      queries.remove.run(kind, owner, key)
      queries.insert.run(kind, owner, key, formatJson(value), message, person, expiresAt)
      queries.dropOldest.run(person, kind, owner)
    },
    *list({ agent, deciderKeys, after = Number.MAX_SAFE_INTEGER, limit }, now) {
      const page = [rememberedDecisionKind, formatOwner(agent), now, after, limit] as const
      const rows = deciderKeys
        ? yield* flatMapInOrder(deciderKeys, key => queries.listByPerson.all(...page, key))
        : yield* queries.list.all(...page)
      return rows
        .toSorted((a, b) => b.id - a.id)
        .slice(0, limit)
        .map(({ id: position, value }) => ({ ...readRemembered(value), number: position }))
    },
    find: findByKey,
    *findByRequirement(requirement, now) {
      const asker = yield* queries.findAsker.get(requirement.message)
      if (!asker) return undefined
      const ids = listRememberedIds(requirement, parseJson(asker.sender))
      const decisions = yield* mapInOrder(ids, id => findByKey({ agent: requirement.agent, id }, now))
      return decisions.find(decision => decision?.requirement === requirement.id)
    },
    *remove({ agent, id }) {
      return (yield* queries.remove.change(rememberedDecisionKind, formatOwner(agent), id)) > 0
    },
  }
}

function prepareRememberedQueries(db: Sql) {
  const validCondition = 'kind = ?1 AND owner = ?2 AND expires_at > ?3 AND id < ?4'
  return {
    findAsker: db.prepare<{ sender: string; channel: string }>(
      `SELECT json_extract(envelope, '$.sender') AS sender, json_extract(envelope, '$.received_via') AS channel
     FROM messages WHERE seq = ?`,
    ),
    remove: db.prepare('DELETE FROM records WHERE kind = ? AND owner = ? AND key = ?'),
    insert: db.prepare(
      `INSERT INTO records (kind, owner, key, version, value, message, person, expires_at) VALUES (?, ?, ?, 1, ?, ?, ?, ?)`,
    ),
    dropOldest: db.prepare(
      `DELETE FROM records WHERE id IN (SELECT id FROM records INDEXED BY records_person
       WHERE person = ?1 AND kind = ?2 AND owner = ?3 ORDER BY id DESC LIMIT -1 OFFSET ${maxRememberedDecisions})`,
    ),
    list: db.prepare<RecordRow>(
      `SELECT id, value FROM records INDEXED BY records_owner WHERE ${validCondition} ORDER BY id DESC LIMIT +?5`,
    ),
    listByPerson: db.prepare<RecordRow>(
      `SELECT id, value FROM records INDEXED BY records_person WHERE person = ?6 AND ${validCondition} ORDER BY id DESC LIMIT +?5`,
    ),
    find: db.prepare<{ value: string }>(
      'SELECT value FROM records WHERE kind = ? AND owner = ? AND key = ? AND expires_at > ?',
    ),
  }
}

function readRemembered(value: string): RememberedDecision {
  return rememberedDecisionSchema.parse(parseJson(value))
}
