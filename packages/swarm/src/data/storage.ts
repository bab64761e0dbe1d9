import type { Json } from '@postern/core'
import { copyJson } from '@postern/transcript'
import type { DataContext } from './context.ts'
import { defaultScore, findNearest } from './find-nearest.ts'
import type { StorageItem, StorageSpec } from './storage-spec.ts'

/**
 * Items of one client or of all clients, by id. They outlive restarts. It suits hundreds of items, not a hundred thousand, because they are
 * in one record.
 */
export interface ClientStorage<Item extends StorageItem = StorageItem> {
  get(id: Item['id']): Promise<Item | null>
  /** In the order of their first insertion. */
  list(filter?: (item: Item) => boolean): Promise<readonly Item[]>
  /** Inserts it or replaces the item with its id. @throws TypeError for an item that is no JSON */
  upsert(item: Item): Promise<void>
  remove(id: Item['id']): Promise<void>
  /** Removes the default items, too. */
  clear(): Promise<void>
  /** The nearest in meaning, nearest first, with at least `score` (−1 to 1, default 0.65). @throws Rejection unsupported without `embed` */
  take(search: string, total: number, score?: number): Promise<readonly Item[]>
}

/** The items, wherever they are stored. */
export interface StorageItems<Item extends StorageItem> {
  find(id: Item['id']): Promise<Item | null>
  /** In the order of their first insertion. */
  readAll(): Promise<readonly Item[]>
  put(item: Item): Promise<void>
  remove(id: Item['id']): Promise<void>
  clear(): Promise<void>
}

/** Items and their events. */
export function createClientStorage<Item extends StorageItem>(
  spec: StorageSpec<Item>,
  data: DataContext,
  items: StorageItems<Item>,
): ClientStorage<Item> {
  const { storageName } = spec

  function tell(type: string, input: Record<string, Json | undefined>, output: Record<string, Json> = {}): void {
    data.tell('storage-bus', { type, context: { storageName }, input, output })
  }

  return {
    async get(itemId) {
      const value = await items.find(itemId)
      tell('get', { itemId }, { value })
      return value
    },
    async list(filter = () => true) {
      const value = (await items.readAll()).filter(filter)
      tell('list', {}, { value })
      return value
    },
    async upsert(given) {
      const item = copyJson(given) as Item
      if (!['string', 'number'].includes(typeof item.id)) throw new TypeError('an item has an id, a text or a number')
      await items.put(item)
      tell('upsert', { item })
    },
    async remove(itemId) {
      await items.remove(itemId)
      tell('remove', { itemId })
    },
    async clear() {
      await items.clear()
      tell('clear', {})
    },
    async take(search, total, score = defaultScore) {
      const value = await findNearest(await items.readAll(), { search, total, score }, spec, data)
      tell('take', { search, total, score }, { value: [...value] })
      return value
    },
  }
}
