// Adds members to a result whose first reader loads them from the database.
import type { Operation } from './operation.ts'
import { runNow, runTogether } from './operation.ts'

/** The operations that load members, by the getters of these members. */
const loaders = new WeakMap<() => unknown, () => Operation<void>>()

/**
 * Adds members to `target`, by the operations that load them. SQLite loads a member when a caller first reads it. With a remote server, callers cannot
 * wait there, so the store loads all members before they get the result (`listUnloadedMembers`).
 */
export function defineLazyMembers<Target extends object, Name extends keyof Target>(
  target: Omit<Target, Name>,
  members: { readonly [Key in Name]: () => Operation<Target[Key]> },
): Target {
  for (const [name, load] of Object.entries<() => Operation<unknown>>(members))
    Object.defineProperty(target, name, { get: createLoadingGetter(load), enumerable: true, configurable: true })
  return target as Target
}

function createLoadingGetter(load: () => Operation<unknown>): () => unknown {
  let loaded: { readonly value: unknown } | undefined
  const get = () => {
    loaded ??= { value: runNow(load()) }
    return loaded.value
  }
  loaders.set(get, function* () {
    loaded ??= { value: yield* load() }
  })
  return get
}

/** Loads the lazy members of a value within an operation, which cannot wait at their getters. */
export function* loadMembers(value: unknown): Generator<void, void, void> {
  yield* runTogether(listUnloadedMembers(value))
}

/** The deepest level that is searched. Below it there are only data of peers and agents. */
const deepest = 4

/** Lists the operations that load the lazy members of a result. */
export function listUnloadedMembers(value: unknown): readonly (() => Operation<void>)[] {
  const operations: (() => Operation<void>)[] = []
  collect(value, operations, deepest)
  return operations
}

function collect(value: unknown, operations: (() => Operation<void>)[], depth: number): void {
  if (typeof value !== 'object' || value === null || depth === 0 || ArrayBuffer.isView(value)) return
  if (Array.isArray(value)) {
    for (const element of value) collect(element, operations, depth - 1)
    return
  }
  for (const name of Object.keys(value)) {
    const descriptor = Object.getOwnPropertyDescriptor(value, name)
    if (!descriptor?.get) collect(descriptor?.value, operations, depth - 1)
    else {
      const load = loaders.get(descriptor.get)
      if (load) operations.push(load)
    }
  }
}
