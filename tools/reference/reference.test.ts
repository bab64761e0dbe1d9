import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Hono } from 'hono'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { withheldCases } from '../../packages/operator/src/why/rules/withheld-messages.ts'
import { noticedFlags } from './answers/flags.ts'
import { describeReference, findDifferences } from './documents.ts'
import { checkPurposes, listRoutes } from './routes.ts'
import { formatNumber } from './schema/bounds.ts'
import { takeSentence } from './schema/key-comments.ts'
import { formatSchemaTable, listSchemaRows } from './schema/rows.ts'

const root = join(import.meta.dirname, '../..')

describe('docs/reference', () => {
  let texts: ReadonlyMap<string, string>

  beforeAll(async () => {
    texts = await describeReference(root)
  })

  test('matches the code (if not, run npm run reference -- --write)', () => {
    expect(findDifferences(root, texts)).toEqual([])
  })

  test('names the file and the line of a difference', () => {
    const folder = mkdtempSync(join(tmpdir(), 'reference-'))
    for (const [path, text] of texts) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    expect(findDifferences(folder, texts)).toEqual([])
    const errors = 'docs/reference/errors.md'
    const changedText = (texts.get(errors) ?? '').replace('| 429 |', '| 420 |')
    writeFileSync(join(folder, errors), changedText)
    rmSync(join(folder, 'docs/reference/routes.md'))
    expect(findDifferences(folder, texts)).toEqual([
      'docs/reference/routes.md is not there',
      expect.stringMatching(
        /^docs\/reference\/errors\.md:\d+ has ".*\| 420 \|.*", and the code gives ".*\| 429 \|.*"$/,
      ),
    ])
    rmSync(folder, { recursive: true })
  })
})

describe('listSchemaRows()', () => {
  const schema = z.strictObject({
    size: z.int().positive().max(9).default(4),
    names: z.array(z.string().min(1)).default([]),
    inner: z.strictObject({ mode: z.enum(['a', 'b']) }).prefault({ mode: 'a' }),
    when: z
      .string()
      .refine(text => text !== '', 'must be a time')
      .transform(Number)
      .optional(),
  })

  test('lists the type, default and bounds of each key', () => {
    expect(listSchemaRows(schema)).toEqual([
      {
        path: ['size'],
        type: 'integer',
        default: '4',
        isRequired: false,
        hasKeys: false,
        bounds: ['more than 0', 'at most 9'],
      },
      {
        path: ['names'],
        type: 'list of string',
        default: '[]',
        isRequired: false,
        hasKeys: false,
        bounds: ['each not empty'],
      },
      { path: ['inner'], type: 'object', default: '{ "mode": "a" }', isRequired: false, hasKeys: true, bounds: [] },
      { path: ['inner', 'mode'], type: '"a" or "b"', isRequired: true, hasKeys: false, bounds: [] },
      { path: ['when'], type: 'string', isRequired: false, hasKeys: false, bounds: ['a time'] },
    ])
  })

  test('states for which alternatives of a union a key exists', () => {
    const either = z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('one'), same: z.string(), own: z.string() }),
      z.object({ kind: z.literal('two'), same: z.number() }),
    ])
    expect(listSchemaRows(either)).toMatchObject([
      { path: ['kind'], type: '"one" or "two"', bounds: [] },
      { path: ['same'], type: 'string or number', bounds: [] },
      { path: ['own'], type: 'string', bounds: ['where `kind` is `"one"`'] },
    ])
  })
})

test('the error for a key without a doc comment says where to write one', () => {
  const comments = { findComment: () => '' }
  const source = { file: 'packages/q/src/config.ts', name: 'schema' }
  expect(() => formatSchemaTable(z.object({ silent: z.string() }), { comments, source })).toThrow(
    'Cannot describe silent of schema: write a doc comment at each in packages/q/src/config.ts',
  )
})

test('a route without documented callers is an error', () => {
  const app = new Hono().get('/unknown', context => context.text(''))
  expect(() => listRoutes({ app, channels: [] })).toThrow('add a row to tools/reference/routes.ts')
})

test('a route without a purpose, and a purpose without a route, is an error', () => {
  expect(() => checkPurposes(['/a'], { '/a': 'one' })).not.toThrow()
  expect(() => checkPurposes(['/a'], { '/b': 'two' })).toThrow('add one for /a; remove that of /b')
})

test('listRoutes() omits middleware and 405 handlers, and lists a handler for all methods', () => {
  const app = new Hono()
    .all('/a2a/*', (_, next) => next())
    .post('/a2a', context => context.text(''))
    .all('/a2a', context => context.text('', 405))
    .all('/agents/:agent/a2a/rest/*', context => context.text(''))
  const listedRoutes = listRoutes({ app, channels: [] }).map(({ methods, path }) => [methods.join(), path])
  expect(listedRoutes).toEqual([
    ['POST', '/a2a'],
    ['ALL', '/agents/:agent/a2a/rest/*'],
  ])
})

test.each([
  ['One. Two.', 'One.'],
  ['Turns (RFC 5321 §4.5.3.2 asks for five)\n   in an hour.', 'Turns (RFC 5321 §4.5.3.2 asks for five) in an hour.'],
  ['`a.b` counts', '`a.b` counts'],
])('the first sentence of %j is %j', (comment, sentence) => {
  expect(takeSentence(comment)).toBe(sentence)
})

test.each([
  [1000, '1000'],
  [1024, '1024 (1 KiB)'],
  [1024 ** 3, '1073741824 (1 GiB)'],
  [0, '0'],
])('the reference formats the number %j as %j', (value, text) => {
  expect(formatNumber(value)).toBe(text)
})

test('the page of flags lists exactly the flags that channels and the core write', () => {
  const sources = globSync('packages/{message,pipeline,activitypub,a2a,email,web,store}/src/**/*.ts', { cwd: root })
    .filter(path => !path.endsWith('.test.ts'))
    .map(path => readFileSync(join(root, path), 'utf8'))
    .join('\n')
  const writtenFlags = [...sources.matchAll(/(?:\bflag: |\bflags: \[|Flag = )'([a-z_]+)'/g)].map(
    ([, flag = '']) => flag,
  )
  const flags = [...withheldCases.map(([flag]) => flag), ...Object.keys(noticedFlags)]
  expect(writtenFlags.length).toBeGreaterThan(30)
  expect([...new Set(writtenFlags)].filter(flag => !flags.includes(flag))).toEqual([])
  const isWritten = (flag: string) => new RegExp(`\\b${flag}\\b`).test(sources) || /^unsigned_/.test(flag)
  expect(flags.filter(flag => !isWritten(flag))).toEqual([])
})
