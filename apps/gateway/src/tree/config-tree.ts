// Reads and sets values at paths of a configuration, through objects and lists.
import { isJsonObject } from '@postern/message'

/** A configuration before its validation, or a part of one. */
export type ConfigTree = Readonly<Record<string, unknown>>

/** Returns the value at a path. */
export function readAt(tree: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((node, key) => (node as ConfigTree | undefined)?.[key], tree)
}

/**
 * Changes each child of a list or an object. A member that is or becomes undefined is left out. Returns the value itself if nothing changes, so
 * that a walk over thousands of agents copies none of them.
 */
export function mapChildren(value: object, change: (child: unknown, name: string) => unknown): object {
  const members = value as ConfigTree
  const names = Object.keys(members)
  const changes = new Map<string, unknown>()
  for (const name of names) {
    const child = members[name]
    const changedChild = change(child, name)
    if (changedChild !== child || child === undefined) changes.set(name, changedChild)
  }
  if (changes.size === 0) return value
  const readChild = (name: string) => (changes.has(name) ? changes.get(name) : members[name])
  if (Array.isArray(value)) return names.map(readChild)
  return Object.fromEntries(
    names.map(name => [name, readChild(name)] as const).filter(([, child]) => child !== undefined),
  )
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
