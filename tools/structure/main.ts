// Checks structural rules that no compiler knows (`npm run structure`), and exits with 1 on a fault.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { listRepositoryFiles } from '../docs/pages.ts'
import { findChannelValues, findProtocolNames } from './channel-names.ts'
import { findFragments, findSilentFiles } from './comments.ts'
import { findDuplicateNames, findStarExports } from './exported-names.ts'
import { findCycles, findLargeFolders, findLayerFaults } from './folders.ts'
import { findIdleOperations } from './idle-operations.ts'
import layers from './layers.json' with { type: 'json' }
import { findLongFunctions } from './long-functions.ts'
import { findImportedPrograms } from './programs.ts'
import { findStaleFileNames } from './readme-files.ts'
import { readSourceFiles } from './source-files.ts'
import { findPrivateWords, findSubjectFaults, findTitleFaults, findVagueNames } from './wording.ts'

const root = join(import.meta.dirname, '../..')
/** The time since which commit subjects are checked; earlier commits are exempt. */
const subjectsSince = '2026-11-23T03:00:00Z'

const gitLog = execFileSync('git', ['log', `--since=${subjectsSince}`, '--format=%s'], { cwd: root, encoding: 'utf8' })
const paths = listRepositoryFiles(root)
const files = readSourceFiles(
  root,
  paths.filter(path => path.endsWith('.ts') && !path.startsWith('fixtures/')),
)

const readmes = paths
  .filter(path => path.endsWith('/README.md'))
  .map(path => ({ path, text: readFileSync(join(root, path), 'utf8') }))

const rules: readonly (readonly [string, readonly string[]])[] = [
  ['Files that import each other in a circle', findCycles(files).map(group => group.join(' '))],
  ['Imports against the order of folders', findLayerFaults(files, layers)],
  ['Exports that name nothing', findStarExports(files)],
  ['Names that several files export', findDuplicateNames(files)],
  ['Programs that others import', findImportedPrograms(files)],
  ['Folders with too many files', findLargeFolders(paths)],
  ['Functions that are too long', findLongFunctions(files)],
  ['Operations that do not run', findIdleOperations(files)],
  ['Channels that are known by name', findProtocolNames(files)],
  ["Channels of which the operator's side may import types alone", findChannelValues(files)],
  ['Words outside the vocabulary', findPrivateWords(files)],
  ['Variables that do not say what they hold', findVagueNames(files)],
  ['READMEs that name files that are gone', findStaleFileNames(readmes, paths)],
  ['Files that do not say what they are for', findSilentFiles(files)],
  ['Comments that are no sentences', findFragments(files)],
  ['Titles of tests', findTitleFaults(files)],
  ['Subjects of commits', findSubjectFaults(gitLog.split('\n').filter(Boolean))],
]

for (const [title, faults] of rules) {
  if (faults.length > 0) console.log(`${title}: ${faults.length}\n${faults.map(fault => `  ${fault}`).join('\n')}`)
}
const count = rules.reduce((sum, [, faults]) => sum + faults.length, 0)
console.log(count === 0 ? `${files.length} files keep the rules of the tree.` : `${count} faults.`)
process.exitCode = count === 0 ? 0 : 1
