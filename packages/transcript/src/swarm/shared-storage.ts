import type { Json } from '@postern/core'
import { Unavailable } from '@postern/core'
import { copyJson } from '../copy-json.ts'
import type { ClientStorage, StorageItem, StorageSpec } from './client-storage.ts'
import type { DataRoom } from './data-room.ts'
import { kindOfItems } from './data-room.ts'
import { defaultScore, findNearest } from './find-nearest.ts'

/** Others are done whenever one is not first: this many of them at once are a fault. */
const maxTries = 1_000

/** One storage for all clients: each item is a record of its own, so that it comes and goes, and is counted, for itself. */
export function createSharedStorage<Item extends StorageItem>(
  spec: StorageSpec<Item>,
  room: DataRoom,
): ClientStorage<Item> {
  const { storageName } = spec
  const { shelf, owner } = room
  const kind = kindOfItems(storageName)
  const placeOf = (id: Item['id']) => ({ kind, owner, key: JSON.stringify(id) })

  function tell(type: string, input: Record<string, Json | undefined>, output: Record<string, Json> = {}): void {
    room.tell('storage-bus', { type, context: { storageName }, input, output })
  }

  /** What an earlier release has put into one record. */
  async function takeApart(): Promise<void> {
    const place = room.placeOf('storage', storageName)
    const items = (await shelf.get(place))?.value
    if (items === undefined) return
    for (const item of Array.isArray(items) ? (items as readonly Item[]) : [])
      await shelf.insert(placeOf(item.id), item)
    await shelf.remove(place)
  }

  let apart: Promise<void> | undefined
  function open(): Promise<void> {
    apart ??= takeApart()
    return apart
  }

  async function readAll(): Promise<readonly Item[]> {
    await open()
    return (await shelf.list(kind, owner)).map(({ value }) => value as Item).toReversed()
  }

  async function put(item: Item): Promise<void> {
    await open()
    for (let left = maxTries; left > 0; left -= 1) {
      const before = await shelf.get(placeOf(item.id))
      const place = placeOf(item.id)
      if (before ? await shelf.swap(place, before.version, item) : await shelf.insert(place, item)) return
    }
    throw new Unavailable('Cannot keep item: others were first, again and again')
  }

  return {
    async get(itemId) {
      await open()
      const value = ((await shelf.get(placeOf(itemId)))?.value as Item | undefined) ?? null
      tell('get', { itemId }, { value })
      return value
    },
    async list(filter = () => true) {
      const value = (await readAll()).filter(filter)
      tell('list', {}, { value })
      return value
    },
    async upsert(given) {
      const item = copyJson(given) as Item
      if (!['string', 'number'].includes(typeof item.id)) throw new TypeError('an item has an id, a text or a number')
      await put(item)
      tell('upsert', { item })
    },
    async remove(itemId) {
      await open()
      await shelf.remove(placeOf(itemId))
      tell('remove', { itemId })
    },
    async clear() {
      await open()
      for (const { key } of await shelf.list(kind, owner)) await shelf.remove({ kind, owner, key })
      tell('clear', {})
    },
    async take(search, total, score = defaultScore) {
      const value = await findNearest(await readAll(), { search, total, score }, spec, room)
      tell('take', { search, total, score }, { value: [...value] })
      return value
    },
  }
}
