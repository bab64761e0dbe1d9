// Sets a value at a path of a configuration, through objects and lists.
import { isJsonObject } from '@postern/message'

/** Returns the tree with `value` at a path. A key in a list is the position of an existing item. */
export function setAt(node: unknown, [key = '', ...innerPath]: readonly string[], value: unknown): unknown {
  const fill = (child: unknown) => (innerPath.length === 0 ? value : setAt(child, innerPath, value))
  if (Array.isArray(node)) return node.map((item, index) => (String(index) === key ? fill(item) : item))
  const members = isJsonObject(node) ? node : {}
  return { ...members, [key]: fill(members[key]) }
}
