import { describe, expect, test } from 'vitest'
import { sumUsage, tokenUsageSchema } from './token-usage.ts'

describe('token usage', () => {
  test('has one sum for each provider and model, in the order of their first appearance', () => {
    const small = { model: 'small', input_tokens: 10, output_tokens: 4, reasoning_tokens: 1 }
    const large = { model: 'large', input_tokens: 7, output_tokens: 2, total_tokens: 9, cached_input_tokens: 5 }
    const otherProvider = { ...small, provider: 'elsewhere' }
    expect(sumUsage([small, large, small, otherProvider])).toEqual([
      { model: 'small', input_tokens: 20, output_tokens: 8, reasoning_tokens: 2, total_tokens: 28 },
      { ...large },
      { ...otherProvider, total_tokens: 14 },
    ])
  })

  test('stays unknown instead of zero when nobody reports it, and a partial report has no total', () => {
    expect(sumUsage([{ input_tokens: 3 }, { input_tokens: 4 }])).toEqual([{ input_tokens: 7 }])
    expect(sumUsage([{ input_tokens: 3 }, { output_tokens: 0 }])).toEqual([
      { input_tokens: 3, output_tokens: 0, total_tokens: 3 },
    ])
    expect(sumUsage([])).toEqual([])
  })

  test('has a valid sum of valid values', () => {
    const usages = [
      { input_tokens: 5, cached_input_tokens: 5 },
      { output_tokens: 3, reasoning_tokens: 3 },
    ]
    for (const usage of sumUsage(usages)) expect(tokenUsageSchema.safeParse(usage).success).toBe(true)
  })

  test.each([
    [{}, 'needs "input_tokens" or "output_tokens"'],
    [{ model: 'm', total_tokens: 5 }, 'needs "input_tokens" or "output_tokens"'],
    [{ prompt_tokens: 5 }, 'Unrecognized key: "prompt_tokens"'],
    [{ input_tokens: -1 }, 'Too small: expected number to be >=0'],
    [{ input_tokens: 1.5 }, 'Invalid input: expected int, received number'],
    [{ input_tokens: '5' }, 'Invalid input: expected number, received string'],
    [{ input_tokens: 2 ** 53 }, 'Too big: expected int to be <=9007199254740991'],
    [{ model: '', input_tokens: 5 }, 'Too small: expected string to have >=1 characters'],
    [{ input_tokens: 5, output_tokens: 2, reasoning_tokens: 3 }, 'is more than "output_tokens", which it is a part of'],
    [{ output_tokens: 2, cached_input_tokens: 1 }, 'is more than "input_tokens", which it is a part of'],
    [
      { input_tokens: 5, cached_input_tokens: 3, cache_write_input_tokens: 3 },
      'is more than "input_tokens", which it is a part of',
    ],
    [{ input_tokens: 5, output_tokens: 2, total_tokens: 8 }, 'is not "input_tokens" plus "output_tokens"'],
    [{ input_tokens: 5, total_tokens: 5 }, 'is not "input_tokens" plus "output_tokens"'],
  ])('the schema refuses %j', (usage, message) => {
    const { error } = tokenUsageSchema.safeParse(usage)
    expect(error?.issues.map(issue => issue.message)).toContain(message)
  })
})
