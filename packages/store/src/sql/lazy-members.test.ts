import { expect, test } from 'vitest'
import { defineLazyMembers, listUnloadedMembers } from './lazy-members.ts'
import { endedWith, runNow } from './operation.ts'

function openLazy() {
  const loads: string[] = []
  const lazy = (name: string) =>
    defineLazyMembers<{ raw: string }, 'raw'>(
      {},
      {
        raw() {
          loads.push(name)
          return endedWith(name)
        },
      },
    )
  return { lazy, loads }
}

test('a lazy member loads once, at its first reading', () => {
  const { lazy, loads } = openLazy()
  const message = lazy('a')
  expect(loads).toEqual([])
  expect([message.raw, message.raw]).toEqual(['a', 'a'])
  expect(loads).toEqual(['a'])
})

test('listUnloadedMembers() lists the loads of lazy members without running them, and ignores deeply nested ones', () => {
  const { lazy, loads } = openLazy()
  const values = [[{ content: lazy('a') }], lazy('b'), { far: { far: { far: { far: lazy('d') } } } }, null, 'x']
  const lists = values.map(listUnloadedMembers)
  expect(loads).toEqual([])
  for (const load of lists.flat()) runNow(load())
  expect(loads).toEqual(['a', 'b'])
})

test('a member that must wait for a server throws an error before it has loaded', () => {
  const message = defineLazyMembers<{ raw: string }, 'raw'>(
    {},
    {
      *raw() {
        yield
        return 'bytes'
      },
    },
  )
  expect(() => message.raw).toThrow('must have now')
  const [load] = listUnloadedMembers(message)
  const operation = load?.()
  operation?.next()
  operation?.next()
  expect(message.raw).toBe('bytes')
})
