import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { findDangling, indexTests, listCited, readRules, writeTests } from './conformance.ts'

/** Builds ids of rules that do not exist from parts, so that this file cites none. */
const rule = (digits: string) => ['Q', digits].join('-')
const header = '| rule | what it asks | source | tests |\n| --- | --- | --- | --- |\n'
/** The name of a document that does not exist. */
const plan = ['plan', 'md'].join('.')
const list = 'docs/conformance/q.md'
const passing = 'packages/q/test/q.test.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

/** Creates a repository with these files and one rule that one test names. */
function createRepository(files: Readonly<Record<string, string>> = {}): string {
  const root = mkdtempSync(join(tmpdir(), 'conformance-'))
  folders.push(root)
  const usual = {
    [list]: `${header}| ${rule('01')} | It holds. | Postern | [q](../../${passing}) |\n`,
    [passing]: `test('${rule('01')}: it holds', () => {})`,
  }
  for (const [path, text] of Object.entries({ ...usual, ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

test('the lists have every cited rule, the code cites every listed rule, and all named tests and documents exist', () => {
  expect(findDangling(join(import.meta.dirname, '..'))).toEqual([])
})

describe('listCited()', () => {
  test.each([
    ['one id', `// ${rule('01')}: it holds`, ['01']],
    ['several ids', `'${rule('01')}, ${rule('03')} hold'`, ['01', '03']],
    ['ids without their beginning', `${rule('01')}, -02 and -04 hold`, ['01', '02', '04']],
    ['a range', `${rule('01')}…${rule('03')} over HTTP`, ['01', '02', '03']],
    ['a range without its beginning', `${rule('01')} to -03`, ['01', '02', '03']],
    ['a letter or a section in an id', `${rule('01a')} ${rule('1.2')}`, ['01a', '1.2']],
  ])('finds %s', (_, text, expected) => {
    expect(listCited(text)).toEqual(expected.map(rule))
  })

  test.each(['SHA-256', 'UTF-8', 'RFC-822', 'ISO-8859-1', 'P-256', 'x-01', 'a/Q-01', 'price-10'])('omits %s', text => {
    expect(listCited(text)).toEqual([])
  })
})

describe('findDangling()', () => {
  test('returns nothing if every citation has its rule', () => expect(findDangling(createRepository())).toEqual([]))

  test.each([
    [
      'a rule that is cited and not listed',
      { 'packages/q/src/q.ts': `// ${rule('02')}` },
      `packages/q/src/q.ts cites ${rule('02')}, which docs/conformance does not list`,
    ],
    [
      'a rule that is listed and not cited',
      { [passing]: `test('it holds', () => {})`, [list]: `${header}| ${rule('01')} | It holds. | Postern | – |\n` },
      `${list} lists ${rule('01')}, which nothing cites`,
    ],
    [
      'a test that is gone',
      { [list]: `${header}| ${rule('01')} | It holds. | Postern | [r](../../packages/q/test/r.test.ts) |\n` },
      `${list} cites ../../packages/q/test/r.test.ts, which is not there`,
    ],
    [
      'a test that does not name its rule',
      { [passing]: `test('it holds', () => {})`, 'packages/q/src/q.ts': `// ${rule('01')}` },
      `${rule('01')} is listed with ${passing}, which does not name it`,
    ],
    [
      'a document that is not there',
      { 'packages/q/src/q.ts': `/** As ${plan} has it. */` },
      `packages/q/src/q.ts cites ${plan}, which is not there`,
    ],
    ['a broken link', { 'README.md': `See [this](${plan}#part).` }, `README.md cites ${plan}, which is not there`],
    [
      'a rule without a sentence',
      { [list]: `${header}| ${rule('01')} |  | Postern | [q](../../${passing}) |\n` },
      `${rule('01')} needs one sentence`,
    ],
  ])('finds %s', (_, files, expectedProblem) => {
    expect(findDangling(createRepository(files))).toEqual([expectedProblem])
  })

  test.each(['§4.6', '(§4.6)', 'row 69', 'issue 5'])('finds %s of an unnamed document', text => {
    const problem = `packages/q/src/q.ts cites ${text.replace(/[()]/g, '')}: of what?`
    expect(findDangling(createRepository({ 'packages/q/src/q.ts': `// ${text}` }))).toEqual([problem])
  })

  test('finds a title that begins with a number', () => {
    const files = { 'packages/q/test/r.test.ts': `${'test'}('37: it holds', () => {})` }
    expect(findDangling(createRepository(files))).toEqual(['packages/q/test/r.test.ts cites 37: of what?'])
  })

  test('takes no code for a document’s name', () => {
    const files = {
      'packages/q/src/q.ts': `const path = 'plan.md'\nread(path) // as README.md says`,
      'README.md': 'Q.',
    }
    expect(findDangling(createRepository(files))).toEqual([])
  })
})

describe('writeTests()', () => {
  const text = `# Q\n\n${header}| ${rule('01')} | It holds. | Postern | – |\n\n| other | table |\n| --- | --- |\n| ${rule('01')} | stays |\n`

  test('fills in the tests of a rule and keeps everything else', () => {
    const writtenText = writeTests({ path: list, text: text.slice(0, text.indexOf('| other')) }, () => [passing])
    expect(writtenText).toContain(`| ${rule('01')} | It holds. | Postern | [q](../../${passing}) |`)
    expect(readRules({ path: list, text: writtenText })).toMatchObject([{ id: rule('01'), tests: [passing] }])
    expect(writeTests({ path: list, text: writtenText }, () => [])).toBe(text.slice(0, text.indexOf('| other')))
  })

  test('keeps other tables unchanged', () => {
    expect(writeTests({ path: list, text }, () => [passing])).toContain(`| ${rule('01')} | stays |`)
  })
})

test('indexTests() prefers test files to case files, and reads Python function names', () => {
  const cited = `// ${rule('01')}`
  const findTests = indexTests([
    { path: 'packages/q/test/q.test.ts', text: cited },
    { path: 'packages/q/test/cases.ts', text: `${cited} ${rule('02')}` },
    { path: 'packages/q/src/q.ts', text: `${cited} ${rule('03')}` },
    { path: 'clients/python/tests/test_q.py', text: 'def test_Q_01_Q_04_hold():' },
  ])
  const citations = ['01', '02', '03', '04'].map(digits => findTests(rule(digits)))
  const python = 'clients/python/tests/test_q.py'
  expect(citations).toEqual([[python, 'packages/q/test/q.test.ts'], ['packages/q/test/cases.ts'], [], [python]])
})
