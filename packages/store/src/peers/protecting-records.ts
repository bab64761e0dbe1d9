// Replaces the names of forgotten people by digests in bans and denials, which protect others from these people and therefore stay.
import type { Json } from '@postern/message'
import { isJsonObject, parseIfJson } from '@postern/message'
import { rememberedDecisionKind } from '@postern/pipeline'
import type { KeyedDigests } from '../digests/keyed-digest.ts'
import { formatJson, parseJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'

const banKind = 'swarm-ban'

interface ProtectingRow {
  readonly id: number
  readonly kind: string
  readonly owner: string
  readonly key: string
  readonly value: string
  readonly person: string
}

interface RecordName {
  readonly kind: string
  readonly key: string
}

/** Returns the key of a record with a digest instead of the name of the person, or undefined if the record protects nobody. */
export function hideKey({ kind, key }: RecordName, { digest }: Pick<KeyedDigests, 'digest'>): string | undefined {
  if (kind === rememberedDecisionKind) return digest(key)
  if (kind !== banKind) return undefined
  const parts = parseIfJson(key)
  if (!Array.isArray(parts)) return digest(key)
  return JSON.stringify([...parts.slice(0, -1), digest(String(parts.at(-1)))])
}

/**
 * Prepares the removal of people's names from the records that protect others from them. `agent` is null for all agents. The removal is an
 * operation of a write.
 */
export function createRecordHider(
  db: Sql,
  digests: KeyedDigests,
): (agent: string | null, persons: readonly string[]) => Operation<void> {
  const list = db.prepare<ProtectingRow>(
    `SELECT id, kind, owner, key, value, person FROM records WHERE person IN (SELECT value FROM json_each(?2))
       AND (owner = 'agent:' || ?1 OR ?1 IS NULL) AND message IS NULL`,
  )
  const deleteFormer = db.prepare('DELETE FROM records WHERE kind = ? AND owner = ? AND key = ?')
  const hide = db.prepare('UPDATE records SET key = ?2, value = ?3, person = ?4 WHERE id = ?1')
  return function* (agent, persons) {
    for (const row of (yield* list.all(agent, JSON.stringify(persons))).filter(protects)) {
      const key = hideKey(row, digests) ?? row.key
      deleteFormer.run(row.kind, row.owner, key)
      hide.run(row.id, key, formatJson(hideValue(row, key, digests)), digests.digest(row.person))
    }
  }
}

function protects({ kind, value }: ProtectingRow): boolean {
  if (kind === banKind) return true
  const decision = kind === rememberedDecisionKind && parseJson<Json>(value)
  return isJsonObject(decision) && decision.approver === 'operator' && decision.policy === 'forbidden'
}

function hideValue({ value, person }: ProtectingRow, key: string, { digest }: KeyedDigests): Json {
  const storedValue = parseJson<Json>(value)
  if (!isJsonObject(storedValue)) return storedValue
  return { ...storedValue, id: key, subject: digest(String(storedValue.subject)), address: digest(person) }
}
