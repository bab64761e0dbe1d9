import { isJsonObject } from '@postern/core'
import type { ConfigFilling } from '@postern/http'

type Tree = Readonly<Record<string, unknown>>

/** Puts `value` at `path` unless something stands there already: what the file says is never overridden. */
function fillAbsent(tree: Tree, path: readonly string[], value: unknown): Tree {
  const [head, ...rest] = path
  if (head === undefined) return tree
  const present = tree[head]
  if (rest.length === 0) return present === undefined ? { ...tree, [head]: value } : tree
  if (present !== undefined && !isJsonObject(present)) return tree
  return { ...tree, [head]: fillAbsent(present ?? {}, rest, value) }
}

export function fillAll(tree: Tree, fillings: readonly ConfigFilling[]): Tree {
  return fillings.reduce((filled, [path, value]) => fillAbsent(filled, path.split('/'), value), tree)
}
