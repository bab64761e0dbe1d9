import type { Json } from '@postern/core'

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
