import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { install } from './install-packages.ts'

const root = join(import.meta.dirname, '../../..')

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

const source = join(root, 'examples')

/** Those that have packages of their own. */
const exampleProjects = ['vercel-ai', 'openai-agents', 'langgraph', 'copilotkit'] as const

/** What shows a page takes minutes to install; the page's client alone is what speaks to a gateway. */
const pageLibraries = /^(react|react-dom|vite|@types\/.*|@copilotkit\/react-core)$/
const pageClient = { '@copilotkit/core': '1.74.0' }

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
}

/** Copies the examples as a user would, and installs what they name, with the packed package. All share one installation. @returns how long it took, ms */
async function installExamples(folder: string, tarball: string): Promise<number> {
  const begun = performance.now()
  const manifests = exampleProjects.map(
    name => JSON.parse(readFileSync(join(source, name, 'package.json'), 'utf8')) as Manifest,
  )
  const named = Object.assign({}, ...manifests.map(({ dependencies }) => dependencies)) as Manifest['dependencies']
  const kept = Object.entries(named).filter(([name]) => !pageLibraries.test(name))
  mkdirSync(folder, { recursive: true })
  const dependencies = { ...Object.fromEntries(kept), ...pageClient, postern: `file:${tarball}` }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }))
  for (const name of exampleProjects) {
    cpSync(join(source, name), join(folder, name), { recursive: true })
    symlinkSync('../node_modules', join(folder, name, 'node_modules'))
  }
  await install(folder, [])
  return performance.now() - begun
}
