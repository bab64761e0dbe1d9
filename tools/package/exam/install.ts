// Installs the packed npm package and its examples in empty folders, as a user would.
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { packPackages } from '../../../apps/gateway/test/deploy/pack-packages.ts'
import { install } from './install-packages.ts'

const root = join(import.meta.dirname, '../../..')

/** The paths that the exam uses. */
interface Installation {
  /** The packed package. */
  readonly tarball: string
  /** A folder outside of the clone with only the package installed. */
  readonly folder: string
  /** Another such folder, with `create-postern`. */
  readonly creator: string
  /** Another such folder, with the adapter for Chat SDK and the packages that its README installs with it. */
  readonly adapter: string
  /** A folder with the examples that have their own packages, which are installed. */
  readonly examples: string
  /** The time of the installation, ms: an upper bound for each example, because all are installed at once. */
  readonly examplesInstallMs: number
  /** The Node programs by their versions. */
  readonly nodes: Readonly<Record<ExamNode, string>>
}

/** The oldest Node that runs the package, and one that does not. */
const nodeVersions = { oldest: '24.11.0', tooOld: '22.18.0' } as const
type ExamNode = keyof typeof nodeVersions

declare module 'vitest' {
  interface ProvidedContext {
    readonly installation: Installation
  }
}

/** The versions of libraries that the adapter is developed with. */
const { devDependencies: adapterLibraries } = JSON.parse(
  readFileSync(join(root, 'packages/chat-adapter/package.json'), 'utf8'),
) as { readonly devDependencies: Readonly<Record<string, string>> }
const chatSdk = ['chat', '@chat-adapter/state-memory'].map(name => `${name}@${adapterLibraries[name]}`)

/** Packs the package and installs it in an empty folder, along with the versions of Node that it is tested on. */
export async function setup(project: TestProject): Promise<() => void> {
  const directory = mkdtempSync(join(tmpdir(), 'postern-exam-'))
  const build = packPackages()
  const tarballOf = (name: string) => join(build, globSync(`${name}-[0-9]*.tgz`, { cwd: build })[0] ?? '')
  const [tarball, creator] = [tarballOf('postern'), tarballOf('create-postern')]
  const adapter = tarballOf('postern-chat-adapter-postern')
  const folder = join(directory, 'empty')
  const nodes = join(directory, 'nodes')
  const [examplesInstallMs] = await Promise.all([
    installExamples(join(directory, 'examples'), tarball),
    install(folder, [tarball]),
    install(join(directory, 'creator'), [creator, tarball]),
    install(join(directory, 'adapter'), [adapter, tarball, ...chatSdk]),
    ...Object.entries(nodeVersions).map(([id, version]) => install(join(nodes, id), [`node@${version}`])),
  ])
  const programOf = (id: ExamNode) => join(nodes, id, 'node_modules/node/bin/node')
  project.provide('installation', {
    tarball,
    folder,
    creator: join(directory, 'creator'),
    adapter: join(directory, 'adapter'),
    examples: join(directory, 'examples'),
    examplesInstallMs,
    nodes: { oldest: programOf('oldest'), tooOld: programOf('tooOld') },
  })
  return () => rmSync(directory, { recursive: true, force: true })
}

const source = join(root, 'examples')

/** The examples with their own package.json. */
const exampleProjects = ['vercel-ai', 'openai-agents', 'langgraph', 'copilotkit', 'support'] as const

/** Matches libraries that only render the page. The exam omits them because they take minutes to install. */
const pageLibraries = /^(react|react-dom|vite|@types\/react.*|@copilotkit\/react-core)$/
const pageClient = { '@copilotkit/core': '1.74.0' }

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

/**
 * Copies the examples as a user would, and installs their packages, with the packed package. All examples share one installation.
 * @returns the duration, ms
 */
async function installExamples(folder: string, tarball: string): Promise<number> {
  const startedAt = performance.now()
  const manifests = exampleProjects.map(
    name => JSON.parse(readFileSync(join(source, name, 'package.json'), 'utf8')) as Manifest,
  )
  const aliases = Object.assign(
    {},
    ...manifests.map(({ dependencies, devDependencies }) => ({ ...devDependencies, ...dependencies })),
  ) as Manifest['dependencies']
  const requiredAliases = Object.entries(aliases).filter(([name]) => !pageLibraries.test(name))
  mkdirSync(folder, { recursive: true })
  const dependencies = { ...Object.fromEntries(requiredAliases), ...pageClient, postern: `file:${tarball}` }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }))
  for (const name of exampleProjects) {
    cpSync(join(source, name), join(folder, name), { recursive: true })
    symlinkSync('../node_modules', join(folder, name, 'node_modules'))
  }
  await install(folder, [])
  return performance.now() - startedAt
}
