import type { Json } from '@postern/core'

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
