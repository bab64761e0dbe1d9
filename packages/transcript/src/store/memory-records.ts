import type { Json } from '@postern/core'
import { copyJson } from '../json/copy.ts'
import type { RecordKey, RecordStore, StoredRecord } from './record-store.ts'

/** A record store that lives as long as the process. */
export function createMemoryRecords(): RecordStore {
  const records = new Map<string, RecordKey & StoredRecord>()
  let versions = 0

  function write(place: RecordKey, value: Json): void {
    versions += 1
    records.set(namePlace(place), { ...place, value: copyJson(value), version: versions })
  }

  return {
    async get(place) {
      return records.get(namePlace(place))
    },
    async insert(place, value) {
      if (records.has(namePlace(place))) return false
      write(place, value)
      return true
    },
    async swap(place, version, value) {
      if (records.get(namePlace(place))?.version !== version) return false
      write(place, value)
      return true
    },
    async put(place, value) {
      write(place, value)
    },
    async remove(place) {
      records.delete(namePlace(place))
    },
    async list(kind, owner, { limit = Number.POSITIVE_INFINITY, offset = 0 } = {}) {
      const own = [...records.values()].filter(record => record.kind === kind && record.owner === owner)
      return own.toReversed().slice(offset, offset + limit)
    },
  }
}

function namePlace({ kind, owner, key }: RecordKey): string {
  return JSON.stringify([kind, owner, key])
}
