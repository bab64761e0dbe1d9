import { describe, expect, test } from 'vitest'
import { readUsage } from './chunk.ts'

describe('readUsage()', () => {
  test.each([
    [
      'OpenAI',
      {
        prompt_tokens: 100,
        completion_tokens: 40,
        total_tokens: 140,
        prompt_tokens_details: { cached_tokens: 64, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 30, audio_tokens: 0 },
      },
      { input_tokens: 100, cached_input_tokens: 64, output_tokens: 40, reasoning_tokens: 30, total_tokens: 140 },
    ],
    [
      'Azure, with details that are null',
      { prompt_tokens: 4297, completion_tokens: 382, total_tokens: 4679, prompt_tokens_details: null },
      { input_tokens: 4297, output_tokens: 382, total_tokens: 4679 },
    ],
    [
      'DeepSeek',
      { prompt_tokens: 20, completion_tokens: 5, prompt_cache_hit_tokens: 16, prompt_cache_miss_tokens: 4 },
      { input_tokens: 20, cached_input_tokens: 16, output_tokens: 5, total_tokens: 25 },
    ],
    [
      'OpenRouter, which tells what a cache was written',
      { prompt_tokens: 20, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 10 } },
      {
        input_tokens: 20,
        cached_input_tokens: 4,
        cache_write_input_tokens: 10,
        output_tokens: 5,
        total_tokens: 25,
      },
    ],
    [
      'xAI, whose thoughts are counted beside the answer',
      {
        prompt_tokens: 12,
        completion_tokens: 1,
        total_tokens: 399,
        completion_tokens_details: { reasoning_tokens: 386 },
      },
      { input_tokens: 12, output_tokens: 387, reasoning_tokens: 386, total_tokens: 399 },
    ],
    [
      'Gemini, whose thoughts are in the total alone',
      { prompt_tokens: 20, completion_tokens: 198, total_tokens: 623 },
      { input_tokens: 20, output_tokens: 603, total_tokens: 623 },
    ],
    [
      'Anthropic by a proxy, its cache beside the input',
      { input_tokens: 5, output_tokens: 7, cache_read_input_tokens: 100, cache_creation_input_tokens: 10 },
      {
        input_tokens: 115,
        cached_input_tokens: 100,
        cache_write_input_tokens: 10,
        output_tokens: 7,
        total_tokens: 122,
      },
    ],
    [
      'a server that tells the total alone of what it said',
      { prompt_tokens: 8, total_tokens: 11 },
      { input_tokens: 8, output_tokens: 3, total_tokens: 11 },
    ],
    ['one that tells half', { completion_tokens: 9 }, { output_tokens: 9 }],
    [
      'a total that is too small',
      { prompt_tokens: 8, completion_tokens: 4, total_tokens: 3 },
      { input_tokens: 8, output_tokens: 4, total_tokens: 12 },
    ],
    [
      'thoughts that are more than the answer, without a total',
      { prompt_tokens: 1, completion_tokens: 2, reasoning_tokens: 5 },
      { input_tokens: 1, output_tokens: 7, reasoning_tokens: 5, total_tokens: 8 },
    ],
  ])('reads %s', (_, reported, usage) => {
    expect(readUsage(reported)).toEqual(usage)
  })

  test.each([
    [undefined],
    [null],
    ['many'],
    [[]],
    [{}],
    [{ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }],
    [{ prompt_tokens: '8', completion_tokens: -1 }],
    [{ prompt_tokens: 1.5, completion_tokens: 2 ** 60 }],
    [{ total_tokens: 7 }],
    [{ prompt_tokens_details: { cached_tokens: 5 } }],
  ])('ignores %j', reported => {
    expect(readUsage(reported)).toBeUndefined()
  })

  test('keeps valid numbers beside invalid ones', () => {
    const reported = {
      prompt_tokens: 8,
      completion_tokens: null,
      total_tokens: 'x',
      prompt_tokens_details: { cached_tokens: {} },
    }
    expect(readUsage(reported)).toEqual({ input_tokens: 8 })
  })
})
