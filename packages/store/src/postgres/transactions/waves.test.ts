import { expect, test } from 'vitest'
import { planWaves } from './waves.ts'

const plan = (...operations: readonly (string | undefined)[]) =>
  planWaves(operations.map((names, at) => ({ at, names: names?.split(' ') }))).map(wave =>
    wave.map(({ member }) => member.at),
  )

test('operations without a common name share a wave', () => {
  expect(plan('a', 'b c', 'd')).toEqual([[0, 1, 2]])
})

test('an operation waits for an earlier one with a common name, while others do not', () => {
  expect(plan('a', 'a b', 'c', 'b')).toEqual([[0, 2], [1], [3]])
})

test('an operation without names runs alone, after all earlier and before all later ones', () => {
  expect(plan('a', 'a', undefined, 'b', 'a')).toEqual([[0], [1], [2], [3, 4]])
})

test('a last operation runs alone after all others', () => {
  const last = { at: 9, names: [], isLast: true }
  const otherWaves = [0, 1].map(at => ({ at, names: [`${at}`] }))
  const waves = planWaves([...otherWaves, last, last])
  expect(waves.map(wave => wave.map(({ member }) => member.at))).toEqual([[0, 1], [9], [9]])
})
