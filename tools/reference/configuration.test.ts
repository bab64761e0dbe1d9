import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { findConfigComment, findConfigSource } from './configuration.ts'
import { formatSchemaTable } from './schema/rows.ts'

const channels = [{ descriptor: { name: 'ticker' } }]

describe('findConfigSource()', () => {
  test('finds the keys of a channel in its own package', () => {
    expect(findConfigSource('ticker', channels)).toEqual({
      file: 'packages/ticker/src/config.ts',
      name: 'tickerConfigSchema',
    })
  })

  test('finds every other member in the gateway’s schema', () => {
    expect(findConfigSource('limits', channels).file).toBe('apps/gateway/src/config/own-schema.ts')
  })

  test('names the channel’s file in the error about a key without a comment', () => {
    const comments = { findComment: () => '' }
    const source = findConfigSource('ticker', channels)
    expect(() => formatSchemaTable(z.strictObject({ secret: z.string() }), { comments, source })).toThrow(
      'Cannot describe secret of tickerConfigSchema: write a doc comment at each in packages/ticker/src/config.ts',
    )
  })
})

test("findConfigComment() looks up a channel's keys in the channel, without its name", () => {
  const queries: unknown[] = []
  const comments = {
    findComment(source: { readonly file: string }, path: readonly string[]) {
      queries.push([source.file, path])
      return ''
    },
  }
  findConfigComment(comments, ['email', 'listen', 'port'])
  findConfigComment(comments, ['limits', 'rate'])
  expect(queries).toEqual([
    ['packages/email/src/config.ts', ['listen', 'port']],
    ['apps/gateway/src/config/own-schema.ts', ['limits', 'rate']],
  ])
})
