import type { Json } from '@postern/core'
import { copyJson } from '../copy-json.ts'
import type { SharedData } from './data-room.ts'
import { defaultScore, findNearest } from './find-nearest.ts'

export type StorageItem = { readonly id: string | number } & { readonly [name: string]: Json }

export interface StorageSpec<Item extends StorageItem = StorageItem> {
  readonly storageName: string
  /** One for all clients. */
  readonly isShared?: boolean | undefined
  /** What is in it before anything was put there. Default nothing. */
  getDefault?(clientId: string, storageName: string): Promise<readonly Item[]> | readonly Item[]
  /** By which words an item is found; default: all its text. */
  createIndex?(item: Item): Promise<string> | string
  /** A text as numbers: near in meaning, near in direction. Without it nothing can be taken by words. */
  embed?(text: string): Promise<readonly number[]>
}

/** Items of a client, or of all of them, by id; kept over restarts. For hundreds of items, not for a hundred thousand: they lie in one record. */
export interface ClientStorage<Item extends StorageItem = StorageItem> {
  get(id: Item['id']): Promise<Item | null>
  /** In the order in which they were first put. */
  list(filter?: (item: Item) => boolean): Promise<readonly Item[]>
  /** Puts it there, or in place of the one of its id. @throws TypeError for what is no JSON */
  upsert(item: Item): Promise<void>
  remove(id: Item['id']): Promise<void>
  /** What it had by default goes, too. */
  clear(): Promise<void>
  /** The nearest in meaning, nearest first; none below `score` (−1 to 1, default 0.65). @throws Rejection unsupported without `embed` */
  take(search: string, total: number, score?: number): Promise<readonly Item[]>
}

/** The items themselves, wherever they lie. */
export interface StorageItems<Item extends StorageItem> {
  find(id: Item['id']): Promise<Item | null>
  /** In the order in which they were first put. */
  readAll(): Promise<readonly Item[]>
  put(item: Item): Promise<void>
  remove(id: Item['id']): Promise<void>
  clear(): Promise<void>
}

/** Items, and what is told of them on the bus. */
export function createClientStorage<Item extends StorageItem>(
  spec: StorageSpec<Item>,
  room: SharedData,
  items: StorageItems<Item>,
): ClientStorage<Item> {
  const { storageName } = spec

  function tell(type: string, input: Record<string, Json | undefined>, output: Record<string, Json> = {}): void {
    room.tell('storage-bus', { type, context: { storageName }, input, output })
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
      const value = await findNearest(await items.readAll(), { search, total, score }, spec, room)
      tell('take', { search, total, score }, { value: [...value] })
      return value
    },
  }
}
