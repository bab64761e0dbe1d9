import { describe, expect, test } from 'vitest'
import { findChannelValues, findProtocolNames } from './channel-names.ts'
import { findDuplicateNames, findStarExports } from './exported-names.ts'
import { findCycles, findLargeFolders, findLayerFaults } from './folders.ts'
import { findIdleOperations } from './idle-operations.ts'
import { findLongFunctions } from './long-functions.ts'
import { findImportedPrograms } from './programs.ts'
import { parseSourceFile } from './source-files.ts'
import { findPrivateWords, findSubjectFaults, findTitleFaults, findVagueNames } from './wording.ts'

const parse = (config: Readonly<Record<string, string>>) =>
  Object.entries(config).map(([path, text]) => parseSourceFile(path, text))

describe('circles of imports', () => {
  test('come from any form of import, including types and re-exports', () => {
    const files = parse({
      'p/a.ts': "import type { B } from './b.ts'\n",
      'p/b.ts': "export { c } from './c.ts'\n",
      'p/c.ts': "export const c = () => import('./a.ts')\n",
      'p/d.ts': "import './a.ts'\n",
      'p/e.ts': '// import "./d.ts"\n',
    })
    expect(findCycles(files)).toEqual([['p/a.ts', 'p/b.ts', 'p/c.ts']])
  })

  test('are listed separately, largest first; a file that imports itself counts', () => {
    const files = parse({
      'p/a.ts': "import { a } from './a.ts'\n",
      'p/b.ts': "import { c } from './c.ts'\n",
      'p/c.ts': "import { b } from './b.ts'\nimport { a } from './a.ts'\n",
    })
    expect(findCycles(files)).toEqual([['p/b.ts', 'p/c.ts'], ['p/a.ts']])
  })

  test('never come from a comment', () => {
    const files = parse({
      'p/a.ts': "import { b } from './b.ts'\n",
      'p/b.ts': "/*\nimport { a } from './a.ts'\n*/\n",
    })
    expect(findCycles(files)).toEqual([])
  })
})

test('an entry file with effects exports only types', () => {
  const programs = ['await serve(3)\n', 'process.exitCode = 1\n', 'run.all()\n'].map((deed, index) => [
    `p/program-${index}.ts`,
    `export const a = () => {\n  call()\n}\n${deed}`,
  ])
  const files = parse({
    ...Object.fromEntries(programs),
    'p/quiet.ts': 'export const b = make()\nif (parentPort) serve()\n',
    'p/user.ts': [0, 1, 2].map(index => `import { a${index} } from './program-${index}.ts'\n`).join(''),
    'p/types.ts': "import type { A } from './program-0.ts'\nimport { b } from './quiet.ts'\n",
    'p/late.ts': "const a = () => import('./program-0.ts')\n",
  })
  expect(findImportedPrograms(files)).toEqual(
    [0, 1, 2].map(index => `p/user.ts imports p/program-${index}.ts, which does something when it is loaded`),
  )
})

describe('the order of folders', () => {
  const layers = { p: ['low', 'low/deep', 'high'] }

  test.each([
    ['down', 'p/src/high/a.ts', '../low/b.ts', 0],
    ['up', 'p/src/low/a.ts', '../high/b.ts', 1],
    ['up, to the loose files', 'p/src/high/a.ts', '../index.ts', 1],
    ['up, into a folder inside', 'p/src/low/a.ts', './deep/b.ts', 1],
    ['within a folder', 'p/src/low/a.ts', './b.ts', 0],
    ['into another package', 'p/src/low/a.ts', '../../../q/src/high/b.ts', 0],
    ['up, by a test', 'p/src/low/a.test.ts', '../high/b.ts', 0],
  ])('applies to an import %s', (_, path, specifier, count) => {
    expect(findLayerFaults(parse({ [path]: `import { x } from '${specifier}'\n` }), layers)).toHaveLength(count)
  })

  test('covers every folder', () => {
    expect(findLayerFaults(parse({ 'p/src/new/a.ts': '' }), layers)).toEqual([
      'p/src/new/a.ts: its folder is not in the order of p',
    ])
  })
})

describe('exported names', () => {
  test('appear in the index one by one', () => {
    expect(findStarExports(parse({ 'p/index.ts': "export * from './a.ts'\n" }))).toHaveLength(1)
    expect(findStarExports(parse({ 'p/index.ts': "export { a } from './a.ts'\n" }))).toEqual([])
  })

  test('are unique', () => {
    const files = parse({ 'p/a.ts': 'export const name = 1\n', 'q/b.ts': 'export interface name {}\n' })
    expect(findDuplicateNames(files)).toEqual(['name is exported by p/a.ts, q/b.ts'])
  })
})

test('a folder may have at most fifteen files, except tables and fixtures', () => {
  const inFolder = (folder: string) => Array.from({ length: 16 }, (_, index) => `${folder}/${index}.ts`)
  expect(findLargeFolders(inFolder('p/src').slice(1))).toEqual([])
  expect(findLargeFolders([...inFolder('p/src'), ...inFolder('p/src/schema')])).toEqual([
    'p/src has 16 files; at most 15',
  ])
})

describe('functions', () => {
  /** Returns a function with a given number of lines. */
  const grow = (head: string, lines: number, lastLine: string, indent = '') =>
    `${head}\n${`${indent}  work()\n\n`.repeat((lines - 2) / 2)}${indent}${lastLine}\n`

  test.each([
    ['a declaration', grow('export async function long(a: string): Promise<void> {', 62, '}'), 1],
    ['a declaration of sixty lines', grow('export function long(): void {', 60, '}'), 0],
    ['a signature of several lines', `function long({\n  a,\n}: Options): void {\n${grow('', 60, '}')}`, 1],
    ['an arrow', grow('export const long = async (a: string) => {', 62, '}'), 1],
    ['an arrow that gives an object', grow('const long = () => ({', 62, '})'), 1],
    ['an arrow of several lines', `const long = (\n  a: string,\n): string => {\n${grow('', 60, '}')}`, 1],
    ['a method', `const all = {\n${grow('  async long(a) {', 62, '},', '  ')}}\n`, 1],
    ['a method with a type', `class All {\n${grow('  #long<T>(a: T): Promise<T> {', 62, '}', '  ')}}\n`, 1],
    ['a table', grow('export const rows = {', 62, '}'), 0],
    ['an interface', grow('export interface Long {', 62, '}'), 0],
    ['a loop outside of functions', grow('for (const one of all) {', 62, '}'), 0],
  ])('must have a limited length: %s', (_, text, count) => {
    const files = parse({ 'p/src/a.ts': `const before = 1\n${text}const after = 1\n` })
    expect(findLongFunctions(files)).toHaveLength(count)
  })

  test('appear with location and length if they are too long, except in tests', () => {
    const text = grow('function long() {', 100, '}')
    const files = parse({ 'p/src/a.ts': text, 'p/src/a.test.ts': text })
    expect(findLongFunctions(files)).toEqual(['p/src/a.ts:1 long has 100 lines; at most 60'])
  })
})

describe('names of channels', () => {
  test('are absent from files that serve all channels', () => {
    const text =
      "const via = 'email'\nimport { open } from '@postern/web'\nconst one = config.a2a\n// 'activitypub' in a comment\n"
    const files = parse({
      'packages/pipeline/src/turn/a.ts': text,
      'apps/gateway/src/channels.ts': text,
      'packages/email/src/a.ts': text,
      'packages/pipeline/src/turn/a.test.ts': text,
    })
    expect(findProtocolNames(files)).toEqual(
      ["'email'", "'@postern/web'", '.a2a'].map(name => `packages/pipeline/src/turn/a.ts names ${name}`),
    )
  })

  test('appear on the operator’s side only with types', () => {
    const files = parse({
      'packages/operator/src/a.ts': "import type { A } from '@postern/a2a'\nimport { b } from '@postern/web'\n",
      'packages/operator/src/a.test.ts': "import { c } from '@postern/email'\n",
    })
    expect(findChannelValues(files)).toEqual(['packages/operator/src/a.ts imports more of @postern/web'])
  })
})

describe('vocabulary faults', () => {
  test('cover words in names, and not in quotations', () => {
    const files = parse({ 'p/a.ts': "const openDesk = 'desk' // the desk\nconst greenhouse = 1\nconst shelves = 2\n" })
    expect(findPrivateWords(files)).toEqual(['p/a.ts: openDesk (say Store)'])
  })

  test('cover retired terms in parts of names, and not in longer words', () => {
    const files = parse({ 'p/a.ts': "const seedPlace = text.replace('place', placeholder)\ntype TurnTaker = never\n" })
    expect(findPrivateWords(files)).toEqual([
      'p/a.ts: seedPlace (say Position, Location, Number, or what it is)',
      'p/a.ts: TurnTaker (say Consumer)',
    ])
  })

  test('cover vague names of variables', () => {
    const files = parse({
      'p/a.ts': "const found = 1 // const known = 2\nconst foundActor = 'const named = 3'\nlet whole: 4\n",
    })
    expect(findVagueNames(files)).toEqual(['p/a.ts: found (say what it holds)', 'p/a.ts: whole (say what it holds)'])
  })
})

test.each([
  ['feat(email): verify ARC seals of forwarded mail', 0],
  [`feat(email): ${'long '.repeat(15)}`, 1],
  ['Verify ARC seals', 1],
  ['feat(email) verify ARC seals', 1],
  ['fix(a2a,web)!: refuse tokens without a key', 0],
  ['Merge branch main', 0],
])('the check of a commit subject: %s', (subject, count) => {
  expect(findSubjectFaults([subject])).toHaveLength(count)
})

test.each([
  ['tables.remove(message)', 1],
  ['if (isOpen) remove(message)', 1],
  ['find.get(message)', 1],
  ['yield* tables.remove(message)', 0],
  ['const row = yield* find.get(message)', 0],
  ['find.run(message)', 0],
  ['tables.lock(message)', 0],
])('the check of operations that do not run: %s', (statement, count) => {
  const files = parse({
    'packages/store/src/a.ts': `return {\n  *remove(message) {\n    yield* find.get(message)\n  },\n  *lock(message) {},\n}\n`,
    'packages/store/src/b.ts': `return {\n  lock(message) {\n    find.run(message)\n  },\n}\n`,
    'packages/store/src/c.ts': `function* use(message) {\n  ${statement}\n}\n`,
  })
  expect(findIdleOperations(files)).toHaveLength(count)
})

describe('titles of tests', () => {
  const passive = 'is refused'
  const faultsOf = (text: string, path = 'packages/p/src/a.test.ts') => findTitleFaults(parse({ [path]: text }))

  test('have at most 25 words, and a parameter is one', () => {
    const text = Array.from({ length: 24 }, (_, index) => `word${index}`).join(' ')
    expect(faultsOf(`test(\n  '${text} %s',\n  () => {},\n)\n`)).toEqual([])
    expect(faultsOf(`\n\ntest.each(rows)(\`${text} \${a + b} more\`, () => {})\n`)).toEqual([
      'packages/p/src/a.test.ts:3 "word0 word1 word2 word3 word4 word5 …": 26 words, at most 25',
    ])
  })

  test.each([
    [`test('a mail ${passive}', () => {})`, 1],
    [`describe('a mail', () => {\n  it.each([1])('%s ${passive}', () => {})\n})`, 1],
    [`test.each([\n  ['a', 'b'],\n])('a mail ${passive}', () => {})`, 1],
    [`test("the peer's mail ${passive}", () => {})`, 1],
    ["test('the gateway refuses a mail', () => {})", 0],
    ['test(\'the header "is refused" stays\', () => {})', 0],
    [`expect('a mail ${passive}', 'why').toBe(text)`, 0],
  ])('must be in the active voice: %s', (text, count) => {
    expect(faultsOf(text)).toHaveLength(count)
  })

  test('come only from test files', () => {
    const text = `test('a mail ${passive}', () => {})`
    expect(faultsOf(text, 'packages/p/src/a.ts')).toEqual([])
    expect(faultsOf(text, 'apps/gateway/test/web/a.test.ts')).toHaveLength(1)
  })
})
