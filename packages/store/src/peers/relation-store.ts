// Lists and counts the relations of an agent.
import type { Relation, RelationKey, RelationStore } from '@postern/pipeline'
import { digestName } from '../digests/digest-name.ts'
import { parseJson } from '../sql/json-columns.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import { prepareAgentTotal } from './agent-totals.ts'
import { keyValues, relationKeyCondition } from './relations.ts'

interface RelationRow extends Omit<RelationKey, 'via'> {
  readonly channel: RelationKey['via']
  readonly id: number
  readonly target: string
  readonly since: number
}

export function createRelationStore({ db }: Pick<StoreContext, 'db'>): Omit<RelationStore, 'decide'> {
  const select = 'SELECT id, agent, channel, relation, peer, target, since FROM relations'
  const find = db.prepare<RelationRow>(`${select} WHERE ${relationKeyCondition}`)
  const list = db.prepare<RelationRow>(
    `${select} INDEXED BY relations_oldest WHERE agent = ? AND channel = ? AND relation = ? AND id > ? ORDER BY id LIMIT +?`,
  )
  const listAll = db.prepare<RelationRow>(`${select} WHERE id > ? ORDER BY id LIMIT +?`)
  const listOfPeer = db.prepare<RelationRow>(`${select} WHERE peer IN (?, ?) AND channel = ?`)
  const count = prepareAgentTotal(db)
  return {
    findRelation(key) {
      return db.read(function* () {
        const row = yield* find.get(...keyValues(key))
        return row && { ...readRelation(row), peer: key.peer }
      })
    },
    listRelations({ limit, after = 0, ...filter }) {
      return db.read(function* () {
        const rows =
          filter.agent === undefined
            ? yield* listAll.all(after, limit)
            : yield* list.all(filter.agent, filter.via, filter.relation, after, limit)
        return rows.map(readRelation)
      })
    },
    listPeerRelations({ via, peer }) {
      return db.read(function* () {
        // A relation that protects a peer may contain a digest instead of its name.
        const rows = (yield* listOfPeer.all(peer, digestName(peer), via)).toSorted((a, b) => a.id - b.id)
        return rows.map(row => ({ ...readRelation(row), peer }))
      })
    },
    countRelations: ({ agent, via, relation }) => db.read(() => count(agent, via, relation)),
  }
}

function readRelation({ id: number, channel: via, target, ...row }: RelationRow): Relation {
  return { ...row, number, via, target: parseJson(target) }
}
