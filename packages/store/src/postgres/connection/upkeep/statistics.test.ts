import { expect, test } from 'vitest'
import { createStatistics } from './statistics.ts'

test('outdated() names a table once, and again when it has doubled or after forget()', () => {
  const statistics = createStatistics()
  const textsOf = (pages: number) => statistics.outdated([{ name: 'messages', pages }]).map(({ text }) => text)
  expect(textsOf(10)).toEqual(['ANALYZE "messages"'])
  expect(textsOf(10)).toEqual([])
  expect(textsOf(19)).toEqual([])
  expect(textsOf(20)).toEqual(['ANALYZE "messages"'])
  statistics.forget()
  expect(textsOf(20)).toEqual(['ANALYZE "messages"'])
})
