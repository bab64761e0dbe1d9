import { expect, test } from 'vitest'
import type { ProvenMail } from '../authenticate/proven-mail.ts'
import { digestMailText } from './text-digests.ts'

const digest = (text: string) => digestMailText({ body: { text, files: [] } } as unknown as ProvenMail)

test('digestMailText() ignores white space', () => {
  expect(digest(' a\n\tb  c ')).toEqual(digest('a b c'))
})

test('digestMailText() ignores words with three digits in a row, and no other words', () => {
  const { fullText, numberlessText } = digest('Ticket №12-345x is öpen since 12 days, (x123)')
  expect(numberlessText).toBe(digest('Ticket № # is öpen since 12 days, (#)'.replace('№ #', '№#')).fullText)
  expect(numberlessText).toBe(digest('Ticket №Ab-999 is öpen since 12 days, (1234y)').numberlessText)
  expect(numberlessText).not.toBe(fullText)
  expect(digest('12 days').numberlessText).not.toBe(digest('13 days').numberlessText)
})
