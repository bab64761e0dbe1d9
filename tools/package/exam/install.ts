import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
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
  /** Another one, with the adapter for Chat SDK and what its README installs beside it. */
  readonly adapter: string
  /** A folder with the examples that have packages of their own, which are installed. */
  readonly examples: string
  /** How long that took, ms: for each example an upper bound, since all are installed at once. */
  readonly examplesInstallMs: number
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

/** The versions that the adapter is developed with. */
const { devDependencies: adapterLibraries } = JSON.parse(
  readFileSync(join(root, 'packages/chat-adapter/package.json'), 'utf8'),
) as { readonly devDependencies: Readonly<Record<string, string>> }
const chatSdk = ['chat', '@chat-adapter/state-memory'].map(name => `${name}@${adapterLibraries[name]}`)

/** Packs the package and installs it in an empty folder, with the versions of Node that it is tried on. */
export async function setup(project: TestProject): Promise<() => void> {
  const place = mkdtempSync(join(tmpdir(), 'postern-exam-'))
  execFileSync(process.execPath, [join(root, 'tools/package/main.ts')], { stdio: 'inherit' })
  const tarballOf = (name: string) =>
    join(root, 'build', globSync(`${name}-[0-9]*.tgz`, { cwd: join(root, 'build') })[0] ?? '')
  const [tarball, creator] = [tarballOf('postern'), tarballOf('create-postern')]
  const adapter = tarballOf('postern-chat-adapter-postern')
  const folder = join(place, 'empty')
  const nodes = join(place, 'nodes')
  const [examplesInstallMs] = await Promise.all([
    installExamples(join(place, 'examples'), tarball),
    install(folder, [tarball]),
    install(join(place, 'creator'), [creator, tarball]),
    install(join(place, 'adapter'), [adapter, tarball, ...chatSdk]),
    ...Object.entries(nodeVersions).map(([id, version]) => install(join(nodes, id), [`node@${version}`])),
  ])
  const programOf = (id: ExamNode) => join(nodes, id, 'node_modules/node/bin/node')
  project.provide('installation', {
    tarball,
    folder,
    creator: join(place, 'creator'),
    adapter: join(place, 'adapter'),
    examples: join(place, 'examples'),
    examplesInstallMs,
    nodes: { oldest: programOf('oldest'), tooOld: programOf('tooOld') },
  })
  return () => rmSync(place, { recursive: true, force: true })
}
