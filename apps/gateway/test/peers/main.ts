// Runs our gateway with real foreign servers and clients (`npm run test:peers`).
import '@postern/testing/end-children'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findA2aSdk } from './a2a/find-a2a-sdk.ts'
import { findChromium } from './browser/find-chromium.ts'
import { CannotRun, requireTools } from './debian.ts'
import { unpackWebServers } from './deploy/unpack-servers.ts'
import { captureFixtures } from './fediverse/capture.ts'
import { findSnac } from './fediverse/find-snac.ts'
import { findFrameworks } from './frameworks/find-frameworks.ts'
import { findMailPrograms } from './mail/find-mail-programs.ts'
import { tryCommand } from './run-command.ts'

// Each exam runs in its own network. The name of an exam runs it alone, `--large` runs the larger exams, and `--capture` stores snac's
// requests as fixtures.

interface Exam {
  readonly name: string
  /** Finds the foreign programs, and returns their path. @throws CannotRun */
  prepareFolder(directory: string): Promise<string>
  /** The module that runs in the private network. */
  readonly inside: string
  captureFixtures?(directory: string): void
}

/** The exams of every change, which take ten minutes at most. */
const exams: readonly Exam[] = [
  { name: 'a2a', prepareFolder: findA2aSdk, inside: './a2a/inside.ts' },
  { name: 'browser', prepareFolder: findChromium, inside: './browser/inside.ts' },
  { name: 'deploy', prepareFolder: unpackWebServers, inside: './deploy/inside.ts' },
  { name: 'dkim', prepareFolder: findMailPrograms, inside: './dkim/inside.ts' },
  { name: 'fedify', prepareFolder: requireTools, inside: './fedify/inside.ts' },
  { name: 'frameworks', prepareFolder: findFrameworks('sdk-1', 'crewai'), inside: './frameworks/inside.ts' },
  { name: 'mail', prepareFolder: findMailPrograms, inside: './mail/inside.ts' },
  {
    name: 'snac2',
    prepareFolder: findSnac,
    inside: './fediverse/inside.ts',
    captureFixtures: directory => captureFixtures(join(directory, 'seen.json')),
  },
]

/** The exams of a release: `npm run test:peers:large`. */
const largeExams: readonly Exam[] = [
  { name: 'adk', prepareFolder: findFrameworks('adk'), inside: './frameworks/inside.ts' },
]

/**
 * Returns the command that opens a namespace. It needs root, or a machine where every user may be root in a namespace of their own. Everything that
 * was started in the namespace ends with it, however it ends.
 * @throws CannotRun
 */
async function findNamespace(): Promise<readonly string[]> {
  const namespaceFlags = ['--net', '--mount', '--pid', '--fork', '--kill-child']
  const flags = [...namespaceFlags, ...(process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'])]
  if ((await tryCommand('unshare', [...flags, 'true'])).status === 0) return flags
  throw new CannotRun('this machine lets us have no network namespace')
}

async function runExam({ prepareFolder, inside, captureFixtures }: Exam, directory: string): Promise<number> {
  const programs = await prepareFolder(directory)
  const flags = await findNamespace()
  const path = fileURLToPath(new URL(inside, import.meta.url))
  const exam = spawn('unshare', [...flags, process.execPath, path, programs, directory], { stdio: 'inherit' })
  const [status] = (await once(exam, 'exit')) as [number | null]
  if (status === 0 && process.argv.includes('--capture')) captureFixtures?.(directory)
  return status ?? 1
}

async function runOrSkip(exam: Exam): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'postern-peers-'))
  const startedAt = performance.now()
  process.stdout.write(`${exam.name}:\n`)
  try {
    return await runExam(exam, directory)
  } catch (error) {
    if (!(error instanceof CannotRun)) throw error
    process.stdout.write(`SKIPPED  test:peers, ${exam.name}: ${error.message}\n`)
    return 0
  } finally {
    rmSync(directory, { recursive: true, force: true })
    process.stdout.write(`${exam.name} took ${Math.round((performance.now() - startedAt) / 1_000)} s\n`)
  }
}

const selectableExams = process.argv.includes('--large') ? largeExams : exams
const namedExams = selectableExams.filter(({ name }) => process.argv.includes(name))
for (const exam of namedExams.length > 0 ? namedExams : selectableExams)
  process.exitCode = (await runOrSkip(exam)) || process.exitCode
