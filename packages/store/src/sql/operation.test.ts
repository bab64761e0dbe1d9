import { expect, test } from 'vitest'
import type { Operation } from './operation.ts'
import { endedWith, flatMapInOrder, mapInOrder, runNow, runTogether } from './operation.ts'

/** Creates operations that wait a number of times, and records their steps. */
function openSteps() {
  const steps: string[] = []
  function* wait(name: string, times: number): Operation<string> {
    for (let step = 1; step <= times; step += 1) {
      steps.push(`${name}${step}`)
      yield
    }
    return name
  }
  return { steps, wait }
}

/** Runs an operation to its end and returns its result, with the number of times that it has waited. */
function runToEnd<T>(operation: Operation<T>): readonly [result: T, waits: number] {
  for (let waits = 0; ; waits += 1) {
    const { done, value } = operation.next()
    if (done) return [value as T, waits]
  }
}

test('runNow() returns the result of an operation that need not wait, and refuses one that must', () => {
  const { wait } = openSteps()
  expect([runNow(wait('a', 0)), runNow(endedWith('b')), runNow('c')]).toEqual(['a', 'b', 'c'])
  expect(() => runNow(wait('d', 1))).toThrow('must have now')
})

test('runTogether() runs operations side by side, so that they wait as long as the longest', () => {
  const { steps, wait } = openSteps()
  const operation = runTogether([() => wait('a', 2), () => wait('b', 1), () => 'c', () => wait('d', 0)])
  expect(runToEnd(operation)).toEqual([['a', 'b', 'c', 'd'], 2])
  expect(steps).toEqual(['a1', 'b1', 'a2'])
})

test('mapInOrder() starts each operation after the end of the one before', () => {
  const { steps, wait } = openSteps()
  expect(runToEnd(mapInOrder(['a', 'b'], name => wait(name, 2)))).toEqual([['a', 'b'], 4])
  expect(steps).toEqual(['a1', 'a2', 'b1', 'b2'])
})

test('flatMapInOrder() joins the lists and single items of the operations', () => {
  const list = flatMapInOrder([1, 2, 3], number => (number === 2 ? [] : endedWith([number, 'x'])))
  expect(runNow(list)).toEqual([1, 'x', 3, 'x'])
})

test('an error of an operation reaches the operation that runs it', () => {
  const fail = (): Operation<never> => {
    throw new Error('it cannot')
  }
  expect(() => runNow(runTogether([() => endedWith(1), fail]))).toThrow('it cannot')
  expect(() => runNow(mapInOrder([1], fail))).toThrow('it cannot')
})
