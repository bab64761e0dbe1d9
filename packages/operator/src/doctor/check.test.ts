import { expect, test } from 'vitest'
import { limitOutcomes, outcomeFor } from './check.ts'

const judge = (subject: string, severity: 'ok' | 'error') =>
  outcomeFor(subject, { severity, message: severity, fix: '' })

test('limitOutcomes() lists at most a hundred outcomes, faults first, and counts the others', () => {
  const outcomes = Array.from({ length: 10_000 }, (_, index) =>
    judge(`agent${index}`, index === 9_999 ? 'error' : 'ok'),
  )
  const listedOutcomes = limitOutcomes(outcomes)
  expect(listedOutcomes).toHaveLength(101)
  expect(listedOutcomes[0]).toMatchObject({ subject: 'agent9999', verdict: 'failure' })
  expect(listedOutcomes.at(-1)).toMatchObject({
    verdict: 'skipped',
    message: '9900 more are not listed, 0 of them with a fault',
  })
  expect(limitOutcomes(outcomes.slice(0, 100))).toHaveLength(100)
})

test('limitOutcomes() warns of faults that it leaves out', () => {
  const listedOutcomes = limitOutcomes(Array.from({ length: 150 }, (_, index) => judge(`agent${index}`, 'error')))
  expect(listedOutcomes.at(-1)).toMatchObject({
    verdict: 'warning',
    message: '50 more are not listed, 50 of them with a fault',
  })
})
