// Checks that every rule id cited in code or docs is listed in docs/conformance/ with its source and tests.
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { parseArgs } from 'node:util'

// Rules have ids (`E-30`, `AP-12`), which comments and titles of tests cite. docs/conformance/ explains each rule and lists its tests.
// `--write` fills in the tests. Without it, the program prints the faults and fails.

/** A row of a table in docs/conformance/. */
interface ListedRule {
  readonly id: string
  readonly text: string
  readonly source: string
  /** The paths of its tests from the root of the repository. */
  readonly tests: readonly string[]
  /** The list that contains it, from the root of the repository. */
  readonly list: string
}

interface SourceFile {
  readonly path: string
  readonly text: string
}

const lists = 'docs/conformance'
const globs = ['{apps,packages,clients,tools,examples,docs}/**/*.{ts,tsx,mts,js,mjs,py,md}', '*.{ts,md}']
const notOurs = /(^|\/)(node_modules|dist|build|vendor)\//
const header = '| rule | what it asks | source | tests |'
const noTest = '–'

/** Names that look like ids of rules: algorithms, encodings, numbered publications and licences. */
const otherNames = /^(SHA|UTF|ISO|P|RFC|FEP|CVE|GHSA|GB|HZ|FNV|RSA|HMAC|AES|SSH|A-Z\d?|MIT|CC0|PSF|AFL|EUPL|GPL)-/

const idPattern = /(?<![\w./%-])[A-Z][A-Z0-9_]*(?:-[A-Z][A-Z0-9]*)*-[A-Z]?\d+(?:\.\d+)*[a-z]?(?![\w-])/g
/** Matches the text after an id: `, -002` is one more id, and `…S-30`, `..003` or ` to -006` is the last id of a range. */
const nextPattern = /^(, | and )-(\d+[a-z]?)\b/
const lastPattern = /^(?:…|–|\.\.| to )(?:[A-Z][A-Z0-9_-]*-|-)?(\d+)\b/

const vaguePattern = /^\d{1,2}(?=: )|(?<=^(?:\/\*\* |\/\/ )?|[(`'"])§\d[\d.]*|\b(?:rows?|seeds?|issues?) \d+\b/gi

/** Lists the ids of rules that a text cites. */
export function listCited(text: string): readonly string[] {
  const cited = new Set<string>()
  for (const match of text.matchAll(idPattern)) {
    if (otherNames.test(match[0])) continue
    cited.add(match[0])
    const [, stem = '', digits = ''] = /^(.*?)(\d+)[a-z]?$/.exec(match[0]) ?? []
    let following = text.slice(match.index + match[0].length, match.index + match[0].length + 80)
    const lastDigits = lastPattern.exec(following)?.[1]
    for (let number = Number(digits) + 1; lastDigits !== undefined && number <= Number(lastDigits); number += 1) {
      cited.add(stem + String(number).padStart(digits.length, '0'))
    }
    for (let next = nextPattern.exec(following); next; next = nextPattern.exec(following)) {
      cited.add(stem + next[2])
      following = following.slice(next[0].length)
    }
  }
  return [...cited]
}

/** Reads the rules of one list. */
export function readRules({ path, text }: SourceFile): readonly ListedRule[] {
  return listTableLines(text).map(({ cells: [id = '', rule = '', source = '', tests = ''] }) => ({
    id,
    text: rule,
    source,
    tests: [...tests.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => join(dirname(path), link)),
    list: path,
  }))
}

/** Lists the lines below each header of rules, with their positions in the text. */
function listTableLines(text: string): readonly { readonly at: number; readonly cells: readonly string[] }[] {
  let isRules = false
  return text.split('\n').flatMap((line, index) => {
    if (!line.startsWith('|')) isRules = false
    else if (line === header) isRules = true
    else if (isRules && !/^\|[ |-]+\|$/.test(line)) return [{ at: index, cells: readCells(line) }]
    return []
  })
}

function readCells(line: string): readonly string[] {
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map(cell => cell.trim())
}

/** Fills in the last column of a list, and leaves the rest unchanged. */
export function writeTests({ path, text }: SourceFile, findTests: (id: string) => readonly string[]): string {
  const lines = text.split('\n')
  for (const { at, cells } of listTableLines(text)) {
    const [id = '', rule, source] = cells
    const links = findTests(id).map(test => `[${nameTest(test)}](${relative(dirname(path), test)})`)
    lines[at] = `| ${id} | ${rule} | ${source} | ${links.join(', ') || noTest} |`
  }
  return lines.join('\n')
}

const nameTest = (path: string) => path.replace(/^.*\//, '').replace(/(\.test)?\.\w+$/, '')

/** Indexes the tests that name a rule: test files, or else the files with their cases. */
export function indexTests(sources: readonly SourceFile[]): (id: string) => readonly string[] {
  const cited = sources
    .filter(({ path }) => !isProse(path))
    .flatMap(source => listCited(readCode(source)).map(id => ({ id, path: source.path })))
  const citing = Map.groupBy(cited, ({ id }) => id)
  return id => {
    const paths = (citing.get(id) ?? []).map(({ path }) => path).toSorted()
    const testPaths = paths.filter(path => /\.test\.\w+$|(^|\/)test_\w+\.py$/.test(path))
    return testPaths.length > 0 ? testPaths : paths.filter(path => /(^|\/)(tests?|testing)\//.test(path))
  }
}

const isProse = (path: string) => path.endsWith('.md')

/** Reads a file as text. Python tests have identifiers such as `test_S_01_S_04_…`, which become ids. */
function readCode({ path, text }: SourceFile): string {
  if (!path.endsWith('.py')) return text
  return text.replace(/(?<=_)[A-Z]_\d+(?=_)/g, name => ` ${name.replace('_', '-')} `)
}

function readSources(root: string): readonly SourceFile[] {
  const paths = globs.flatMap(glob => globSync(glob, { cwd: root, exclude: path => notOurs.test(`${path}/`) }))
  return paths.toSorted().map(path => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

const isList = ({ path }: SourceFile) => path.startsWith(`${lists}/`)

/** Finds every dangling reference, and describes each one in a sentence. */
export function findDangling(root: string): readonly string[] {
  const sources = readSources(root)
  const rules = sources.filter(isList).flatMap(readRules)
  const rulesById = new Map(rules.map(rule => [rule.id, rule]))
  const texts = new Map(sources.map(source => [source.path, readCode(source)]))
  const citing = sources.filter(source => !isList(source))
  const cited = new Set(citing.flatMap(({ path }) => listCited(texts.get(path) ?? '')))
  return [
    ...rules.filter(rule => rulesById.get(rule.id) !== rule).map(({ id }) => `${id} is listed twice`),
    ...rules.filter(({ id }) => !cited.has(id)).map(({ id, list }) => `${list} lists ${id}, which nothing cites`),
    ...rules
      .filter(({ text }) => text === '' || text.split(/\s+/).length > 25)
      .map(({ id }) => `${id} needs one sentence`),
    ...rules.flatMap(({ id, tests }) => tests.flatMap(test => judgeTest(id, test, texts.get(test)))),
    ...citing.flatMap(({ path }) => {
      const unlisted = listCited(texts.get(path) ?? '').filter(id => !rulesById.has(id))
      return unlisted.map(id => `${path} cites ${id}, which ${lists} does not list`)
    }),
    ...sources.flatMap(({ path, text }) =>
      listVague({ path, text }).map(citation => `${path} cites ${citation}: of what?`),
    ),
    ...sources.flatMap(source =>
      listMissingFiles(root, source).map(file => `${source.path} cites ${file}, which is not there`),
    ),
  ]
}

/** Checks a listed test. A missing one counts as a dangling reference. */
function judgeTest(id: string, test: string, text: string | undefined): readonly string[] {
  if (text === undefined || listCited(text).includes(id)) return []
  return [`${id} is listed with ${test}, which does not name it`]
}

/** Lists references to sections, rows and issues of an unnamed document, such as numbers before a title. */
function listVague({ path, text }: SourceFile): readonly string[] {
  const passages = isProse(path) ? text.split('\n') : listComments(text)
  return passages.flatMap(passage => passage.match(vaguePattern) ?? [])
}

/** Lists documents and folders that comments, titles and prose name although the repository does not have them. */
function listMissingFiles(root: string, { path, text }: SourceFile): readonly string[] {
  const comments = isProse(path) ? text : listComments(text).join('\n')
  const documents = isProse(path) ? /\]\(([^()\s:#]+)[)#]/g : /(?<![\w./:<…-])((?:[\w.-]+\/)*[\w-]+\.md)\b/g
  const repositoryPaths = /(?<![\w./:<…-])((?:apps|packages|clients|docs|tools|fixtures)\/[\w./-]+\.\w+)\b/g
  const files = new Set(
    [...comments.matchAll(documents), ...comments.matchAll(repositoryPaths)].map(([, file = '']) => file),
  )
  return [...files].filter(file => !existsSync(join(root, file)) && !existsSync(join(root, dirname(path), file)))
}

/** Returns the comments and test titles of a file. */
function listComments(text: string): readonly string[] {
  const comments = [...text.matchAll(/(?:^|\s)\/\/.*$|\/\*[\s\S]*?\*\/|^\s*#.*$|"""[\s\S]*?"""/gm)].map(
    ([comment]) => comment,
  )
  const titles = text.matchAll(/(?:\b(?:test|describe|it)|\))\(\s*(['"`])((?:(?!\1).)+)\1,/g)
  return [...comments, ...[...titles].map(([, , title = '']) => title)]
}

function main(): void {
  const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } })
  const root = join(import.meta.dirname, '..')
  if (values.write) {
    const sources = readSources(root)
    const findTests = indexTests(sources)
    for (const list of sources.filter(isList)) writeFileSync(join(root, list.path), writeTests(list, findTests))
  }
  const dangling = findDangling(root)
  for (const danglingId of dangling) process.stderr.write(`${danglingId}\n`)
  process.exitCode = dangling.length === 0 ? 0 : 1
}

if (import.meta.main) main()
