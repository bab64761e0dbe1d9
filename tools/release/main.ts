// Writes a release into CHANGELOG.md, and sets the version of every package.
/**
 * `npm run changelog -- 0.2.0` prints the entry of a release in CHANGELOG.md: the changes for users since the last tag `v…`. With `--write`
 * it adds the entry, and sets the version of every package.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { CommitText } from './changelog.ts'
import { formatRelease, insertRelease, replaceVersion, versionPattern } from './changelog.ts'

const root = join(import.meta.dirname, '../..')
const versioned = ['package.json', '{apps,packages}/*/package.json', 'clients/*/pyproject.toml']

function runProgram(program: string, ...commandArguments: readonly string[]): string {
  return execFileSync(program, commandArguments, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
}

function listCommits(): readonly CommitText[] {
  const tag =
    runProgram('git', 'tag', '--list', 'v*', '--merged', 'HEAD', '--sort=-version:refname').split('\n')[0] ?? ''
  const range = tag === '' ? ['HEAD'] : [`${tag}..HEAD`]
  return runProgram('git', 'log', '--no-merges', '--format=%s%x1f%b%x1e', ...range)
    .split('\x1e')
    .map(text => text.trim().split('\x1f'))
    .filter(([subject]) => subject)
    .map(([subject = '', body = '']) => ({ subject, body }))
}

function writeRelease(version: string, release: string): void {
  const path = join(root, 'CHANGELOG.md')
  writeFileSync(path, insertRelease(existsSync(path) ? readFileSync(path, 'utf8') : '', release))
  for (const name of globSync(versioned, { cwd: root })) {
    writeFileSync(join(root, name), replaceVersion(name, readFileSync(join(root, name), 'utf8'), version))
  }
  runProgram('npm', 'install', '--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund')
}

const { values, positionals } = parseArgs({
  options: { write: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const [version = ''] = positionals
if (!versionPattern.test(version)) throw new Error(`"${version}" is no version. Name one: npm run changelog -- 0.2.0`)
const release = formatRelease(version, new Date().toISOString().slice(0, 10), listCommits())
if (values.write) writeRelease(version, release)
console.log(release)
