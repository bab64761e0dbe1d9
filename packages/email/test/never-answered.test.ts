import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MailHouse } from './house.ts'
import { openMailHouse } from './house.ts'
import { judgeFates } from './judge-fates.ts'

let house: MailHouse
beforeAll(async () => {
  // They are to others: who wrote them has to decide, not to whom.
  house = await openMailHouse({ config: { answer_unaddressed: true } })
})
afterAll(() => house.close())

test('EM-62: of 100 mails of people, from 25 programs in 25 languages, none is suppressed', async () => {
  const folder = new URL('../../../fixtures/email/personal/', import.meta.url)
  const fates = await judgeFates(house, folder)
  expect(fates).toHaveLength(100)
  expect(fates.filter(({ fate }) => fate !== 'answered')).toEqual([])
})
