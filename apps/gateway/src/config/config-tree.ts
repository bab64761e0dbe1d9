// Reads and sets values at paths of a configuration, through objects and lists.
import { isJsonObject } from '@postern/message'

/** A configuration before its validation, or a part of one. */
export type ConfigTree = Readonly<Record<string, unknown>>

/** Returns the value at a path. */
export function readAt(tree: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((node, key) => (node as ConfigTree | undefined)?.[key], tree)
}

/**
 * Returns the tree with `value` at a path. A plain value on the path becomes an object. A key in a list is the position of an existing item;
 * any other key leaves the list unchanged.
 */
export function setAt(tree: unknown, [key = '', ...innerPath]: readonly string[], value: unknown): unknown {
  const fill = (child: unknown) => (innerPath.length === 0 ? value : setAt(child, innerPath, value))
  if (Array.isArray(tree)) return tree.map((item, index) => (String(index) === key ? fill(item) : item))
  const members = isJsonObject(tree) ? tree : {}
  return { ...members, [key]: fill(members[key]) }
}
