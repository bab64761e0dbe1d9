import type { PlainAnswer } from '@postern/http'
import { toResponse } from '@postern/http'
import { expect, test } from 'vitest'
import { createLargeAnswers } from './answers.ts'

const bounds = { largeFromChars: 100, maxBytesPerCaller: 1_000_000, maxTotalBytes: 1_500_000 }
const largeText = 'ä'.repeat(300_000)
const refusal = 'Cannot answer: earlier answers have not been read yet'

const open = (body: PlainAnswer['body']) => toResponse({ status: 200, headers: {}, body })
const read = (body: PlainAnswer['body']) => open(body).text()

test('createLargeAnswers() passes small answers through, and large ones unchanged', async () => {
  const answers = createLargeAnswers(bounds)
  expect(answers.open('small', 'a')).toEqual({ body: 'small', headers: {} })
  const { body, headers } = answers.open(largeText, 'a')
  expect(headers).toEqual({ 'content-length': '600000' })
  expect(await read(body)).toBe(largeText)
})

test('createLargeAnswers() holds a bounded amount per caller and in all, until the caller reads it or leaves', async () => {
  const answers = createLargeAnswers(bounds)
  const first = answers.open(largeText, 'a')
  expect(() => answers.open(largeText, 'a')).toThrow(refusal)
  const second = answers.open(largeText, 'b')
  expect(() => answers.open(largeText, 'b')).toThrow(refusal)
  await read(first.body)
  const third = answers.open(largeText, 'a')
  await open(third.body).body?.cancel()
  await open(second.body).body?.cancel()
  expect(await read(answers.open(largeText, 'a').body)).toBe(largeText)
  expect(await read(answers.open(largeText, 'b').body)).toBe(largeText)
})

test('createLargeAnswers() allows a first answer of any size', async () => {
  const answers = createLargeAnswers({ largeFromChars: 100, maxBytesPerCaller: 10, maxTotalBytes: 10 })
  const { body } = answers.open(largeText, 'a')
  expect(() => answers.open(largeText, 'a')).toThrow(refusal)
  expect(() => answers.open(largeText, 'b')).toThrow(refusal)
  expect(await read(body)).toBe(largeText)
  expect(await read(answers.open(largeText, 'b').body)).toBe(largeText)
})

test('reserve() counts bytes that a caller sends itself, and releases them once', () => {
  const answers = createLargeAnswers(bounds)
  const end = answers.reserve(600_000, 'a')
  expect(() => answers.reserve(600_000, 'a')).toThrow(refusal)
  end()
  end()
  answers.reserve(600_000, 'a')
  expect(() => answers.reserve(600_000, 'a')).toThrow(refusal)
  answers.reserve(99, 'a')
})
