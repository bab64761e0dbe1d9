// Checks prose, links and sidebar of the documentation (`npm run docs:check`), and exits with 1 if a rule is broken.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { checkLinks } from './links/check-links.ts'
import { listRepositoryFiles, readMarkdownPages } from './pages.ts'
import { checkProse, proseRules } from './prose/check-prose.ts'
import { findOrphans } from './site/sections.ts'

const root = join(import.meta.dirname, '../..')
const help = `npm run docs:check [-- <path or folder> …] [-- --all]

Checks every Markdown file of the repository (without fixtures and the changelog), or those at the given paths.
One fault is  file:line  rule  "words"  (fix)  with its sentence below it. Code blocks, quotations (> …) and HTML are not read;
a code span is one word; what stands in quotation marks is somebody else's.

${Object.entries(proseRules)
  .map(([name, meaning]) => `  ${name.padEnd(14)} ${meaning}`)
  .join('\n')}
  ${'link'.padEnd(14)} a relative link names a file or a folder that is there, and its anchor a heading
  ${'orphan'.padEnd(14)} the README.md of a folder of docs/ links each of its pages: the sidebar of the site is made of these links,
  ${''.padEnd(14)} in their order, under the headings (##) above them

tools/docs/prose/exempt.txt lists pages that have not been rewritten: their prose is not checked. Remove a page when you rewrite it.
--all checks these, too.`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
})

const isWanted = (path: string) =>
  positionals.length === 0 ||
  positionals.some(positional => `${path}/`.startsWith(`${positional.replace(/^\.\/|\/$/g, '')}/`))

function findFaults(): readonly string[] {
  const pages = readMarkdownPages(root)
  const exempt = readFileSync(join(root, 'tools/docs/prose/exempt.txt'), 'utf8').split('\n').filter(Boolean)
  const faults = [
    ...checkProse(
      pages.filter(({ path }) => isWanted(path)),
      values.all ? [] : exempt.filter(isWanted),
    ),
    ...[
      ...checkLinks(pages, listRepositoryFiles(root)),
      ...findOrphans(join(root, 'docs'), path => exempt.includes(path)),
    ].filter(fault => isWanted(fault.split(':')[0] ?? '')),
  ]
  console.log(faults.length === 0 ? `${pages.length} pages keep the rules of prose and links.` : faults.join('\n'))
  if (faults.length > 0) console.log(`${faults.length} faults; npm run -s docs:check -- --help says the rules.`)
  return faults
}

if (values.help) console.log(help)
else process.exitCode = findFaults().length === 0 ? 0 : 1
