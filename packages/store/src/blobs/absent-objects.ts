// Finds files whose bytes are missing in the configured storage, such as after a change of the storage.
import type { AbsentObjects, ByteStore, ObjectStore } from '@postern/message'
import type { Sql } from '../sql/sql.ts'
import type { LocatedObject } from './object-bytes.ts'
import { formatObjectKey, locationColumns } from './object-bytes.ts'

const pageSize = 500
/** The maximum number of files that the search lists, the newest first. */
const maxListed = 100_000
/** The maximum numbers of files that the search reads in a former storage and in the current one. */
const [maxSamplesOfFormer, maxSamplesOfCurrent] = [25, 5] as const

type StoredObject = LocatedObject & { readonly id: number }

/** The files of one storage, with a sample of them. */
interface StorageSummary {
  readonly samples: LocatedObject[]
  files: number
}

export function createAbsentSearch(db: Sql, byteStore: ByteStore | undefined): ObjectStore['findAbsentObjects'] {
  const listBefore = db.prepare<StoredObject>(
    `SELECT id, ${locationColumns} FROM objects WHERE id < ? ORDER BY id DESC LIMIT ${pageSize}`,
  )

  async function listStorages(): Promise<ReadonlyMap<string | null, StorageSummary>> {
    const storages = new Map<string | null, StorageSummary>()
    let beforeId = Number.MAX_SAFE_INTEGER
    for (let listedCount = 0; listedCount < maxListed; listedCount += pageSize) {
      const page = await db.read(() => listBefore.all(beforeId))
      for (const object of page) if (object.is_elsewhere === 1) addToSummary(storages, object)
      beforeId = page.at(-1)?.id ?? 0
      if (page.length < pageSize) break
    }
    return storages
  }

  function addToSummary(storages: Map<string | null, StorageSummary>, object: LocatedObject): void {
    const { storage } = object
    const storageSummary = storages.get(storage) ?? { samples: [], files: 0 }
    storages.set(storage, storageSummary)
    storageSummary.files += 1
    const maxSamples = storage === byteStore?.name ? maxSamplesOfCurrent : maxSamplesOfFormer
    if (storageSummary.samples.length < maxSamples) storageSummary.samples.push(object)
  }

  async function isAbsent(object: LocatedObject): Promise<boolean> {
    return (await byteStore?.read(formatObjectKey(object))) === undefined
  }

  return async () => {
    const absentObjects: AbsentObjects[] = []
    for (const [storage, { files, samples }] of await listStorages()) {
      let absentCount = 0
      for (const object of samples) if (await isAbsent(object)) absentCount += 1
      const storageName = storage === null ? {} : { storage }
      if (absentCount > 0) absentObjects.push({ ...storageName, files, checked: samples.length, absent: absentCount })
    }
    return absentObjects
  }
}
