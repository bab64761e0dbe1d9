// Declares operations on a database as generators, which wait for results that a remote server has not sent yet.
/**
 * An operation on a database. It yields while it waits for results. With a remote server many operations run at the same time, and their statements
 * share round trips. The statements of SQLite run at once, so an operation on a file never yields.
 */
export interface Operation<T> extends Iterator<void, T, void> {
  [Symbol.iterator](): Operation<T>
}

/** An operation, or the value of one that needs no result. */
export type OperationOrValue<T> = Operation<T> | T

/** An operation that has ended already. It is its own result, because most statements of SQLite end so. */
class EndedOperation<T> implements Operation<T>, IteratorReturnResult<T> {
  readonly done = true
  readonly value: T
  constructor(value: T) {
    this.value = value
  }
  next(): this {
    return this
  }
  [Symbol.iterator](): this {
    return this
  }
}

/** Returns an operation that has ended with this value. */
export function endedWith<T>(value: T): Operation<T> {
  return new EndedOperation(value)
}

/** Returns an operation as it is, and a value as an operation that has ended. */
export function toOperation<T>(value: OperationOrValue<T>): Operation<T> {
  return isOperation(value) ? value : endedWith(value)
}

function isOperation<T>(value: OperationOrValue<T>): value is Operation<T> {
  return typeof value === 'object' && value !== null && 'next' in value && Symbol.iterator in value
}

/**
 * Runs an operation to its end at once, if it need not wait.
 * @throws Error if it must wait for a server
 */
export function runNow<T>(operation: OperationOrValue<T>): T {
  if (!isOperation(operation)) return operation
  const { done, value } = operation.next()
  if (!done) throw new Error('an operation waits for a result that it must have now')
  return value
}

type Results<Operations extends readonly (() => unknown)[]> = {
  readonly [At in keyof Operations]: ReturnType<Operations[At]> extends OperationOrValue<infer T> ? T : never
}

/** Runs independent operations side by side, so that their statements share round trips. Returns their results in the order of the operations. */
export function* runTogether<Operations extends readonly (() => unknown)[]>(
  operations: readonly [...Operations],
): Generator<void, Results<Operations>, void> {
  const running: (Operation<unknown> | undefined)[] = operations.map(start => toOperation(start()))
  const results: unknown[] = []
  for (let unfinished = running.length; ; ) {
    for (const [index, operation] of running.entries()) {
      const { done, value } = operation?.next() ?? {}
      if (!done) continue
      results[index] = value
      running[index] = undefined
      unfinished -= 1
    }
    if (unfinished === 0) return results as unknown as Results<Operations>
    yield
  }
}

/** Runs an operation for each item, one after another. Returns their results. */
export function* mapInOrder<Item, T>(
  items: Iterable<Item>,
  run: (item: Item) => OperationOrValue<T>,
): Generator<void, T[], void> {
  const results: T[] = []
  for (const item of items) {
    results.push(yield* toOperation(run(item)))
  }
  return results
}

/** Runs an operation for each item, one after another. Returns all items of their results. */
export function* flatMapInOrder<Item, T>(
  items: Iterable<Item>,
  run: (item: Item) => OperationOrValue<readonly T[] | T>,
): Generator<void, T[], void> {
  return (yield* mapInOrder(items, run)).flat() as T[]
}
