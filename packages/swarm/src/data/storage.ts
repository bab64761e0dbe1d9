import type { Json } from '@postern/core'
import { Rejection } from '@postern/core'
import { copyJson, hashContent } from '@postern/transcript'
import type { DataContext } from './context.ts'

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

export type StorageItem = { readonly id: string | number } & { readonly [name: string]: Json }

export interface StorageSpec<Item extends StorageItem = StorageItem> {
  readonly storageName: string
  /** One storage for all clients. */
  readonly isShared?: boolean | undefined
  /** The first content. Default nothing. */
  getDefault?(clientId: string, storageName: string): Promise<readonly Item[]> | readonly Item[]
  /** The text by which an item is found; default: all its text. */
  createIndex?(item: Item): Promise<string> | string
  /** Converts a text to numbers: texts of similar meaning have a similar direction. Without it there is no search by text. */
  embed?(text: string): Promise<readonly number[]>
}

const defaultScore = 0.65

/** The nearest in meaning, nearest first. @throws Rejection unsupported without `embed` */
async function findNearest<Item extends StorageItem>(
  items: readonly Item[],
  { search, total, score }: { readonly search: string; readonly total: number; readonly score: number },
  { createIndex = indexItem, embed, storageName }: StorageSpec<Item>,
  data: DataContext,
): Promise<readonly Item[]> {
  if (!embed) throw new Rejection('unsupported', 'Cannot search storage: it has no embedding')
  const embedOnce = (text: string) => embedKept(text, embed, storageName, data)
  const wanted = await embedOnce(search)
  const rated: { readonly item: Item; readonly nearness: number }[] = []
  for (const item of items) {
    rated.push({ item, nearness: compareDirections(wanted, await embedOnce(await createIndex(item))) })
  }
  const near = rated.filter(({ nearness }) => nearness >= score).sort((a, b) => b.nearness - a.nearness)
  return near.slice(0, Math.max(0, total)).map(({ item }) => item)
}

function indexItem(item: StorageItem): string {
  return Object.values(item)
    .filter(value => typeof value === 'string')
    .join('\n')
}

/** Keeps the numbers of each text, so that it is embedded once. */
async function embedKept(
  text: string,
  embed: NonNullable<StorageSpec['embed']>,
  storageName: string,
  { records, owner }: DataContext,
): Promise<readonly number[]> {
  const place = { kind: 'swarm-embedding', owner, key: hashContent([storageName, text]) }
  const kept = await records.get(place)
  if (kept) return kept.value as readonly number[]
  const made = await embed(text)
  await records.put(place, copyJson([...made]))
  return made
}

/** Cosine of the angle between them. */
function compareDirections(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]) =>
    x.reduce((sum, value, at) => sum + value * (y[at] ?? 0), 0)
  const length = Math.sqrt(dot(a, a) * dot(b, b))
  return length === 0 ? 0 : dot(a, b) / length
}
