import { expect, test } from 'vitest'
import { createAlternativesPattern, listPhrases } from './phrase-table.ts'

test('listPhrases() returns each phrase of all languages once, and device phrases with one placeholder each', () => {
  expect(listPhrases('wrote')).toEqual(
    expect.arrayContaining(['wrote', 'schrieb', 'a écrit', 'έγραψε', '写道', '이(가) 쓴 글']),
  )
  expect(listPhrases('subject')).toEqual(expect.arrayContaining(['subject', 'betreff', 'aihe', 'θέμα', 'נושא', 'konu']))
  expect(new Set(listPhrases('from')).size).toBe(listPhrases('from').length)
  for (const phrase of listPhrases('device')) expect(phrase.split('#')).toHaveLength(2)
})

test('createAlternativesPattern() matches the longest phrase, and escapes its special characters', () => {
  expect(new RegExp(createAlternativesPattern(['a', 'a (b)'])).exec('a (b)')?.[0]).toBe('a (b)')
})
