import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { installExamples } from './install-examples.ts'
import { install } from './install-packages.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** Where things are that the exam uses. */
interface Installation {
  /** The packed package. */
  readonly tarball: string
  /** A folder outside of the clone in which only the package is installed. */
  readonly folder: string
  /** Another one, with `create-postern`. */
  readonly creator: string
  /** A folder with the examples that have packages of their own, which are installed. */
  readonly examples: string
  /** Programs of Node by their versions. */
  readonly nodes: Readonly<Record<ExamNode, string>>
}

/** The oldest that runs the package, and one that does not. */
const nodeVersions = { oldest: '22.18.0', tooOld: '20.19.0' } as const
type ExamNode = keyof typeof nodeVersions

declare module 'vitest' {
  interface ProvidedContext {
    readonly installation: Installation
  }
}

/** Packs the package and installs it in an empty folder, with the versions of Node that it is tried on. */
export async function setup(project: TestProject): Promise<() => void> {
  const place = mkdtempSync(join(tmpdir(), 'postern-exam-'))
  execFileSync(process.execPath, [join(root, 'tools/package/main.ts')], { stdio: 'inherit' })
  const tarballOf = (name: string) =>
    join(root, 'build', globSync(`${name}-[0-9]*.tgz`, { cwd: join(root, 'build') })[0] ?? '')
  const [tarball, creator] = [tarballOf('postern'), tarballOf('create-postern')]
  const folder = join(place, 'empty')
  const nodes = join(place, 'nodes')
  await Promise.all([
    install(folder, [tarball]),
    install(join(place, 'creator'), [creator, tarball]),
    installExamples(join(place, 'examples'), tarball),
    ...Object.entries(nodeVersions).map(([id, version]) => install(join(nodes, id), [`node@${version}`])),
  ])
  const programOf = (id: ExamNode) => join(nodes, id, 'node_modules/node/bin/node')
  project.provide('installation', {
    tarball,
    folder,
    creator: join(place, 'creator'),
    examples: join(place, 'examples'),
    nodes: { oldest: programOf('oldest'), tooOld: programOf('tooOld') },
  })
  return () => rmSync(place, { recursive: true, force: true })
}
