import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** Where things are that the exam uses. */
interface Installation {
  /** The packed package. */
  readonly tarball: string
  /** A folder outside of the clone in which only the package is installed. */
  readonly folder: string
  /** Another one, with `create-postern`. */
  readonly creator: string
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
    ...Object.entries(nodeVersions).map(([id, version]) => install(join(nodes, id), [`node@${version}`])),
  ])
  const programOf = (id: ExamNode) => join(nodes, id, 'node_modules/node/bin/node')
  project.provide('installation', {
    tarball,
    folder,
    creator: join(place, 'creator'),
    nodes: { oldest: programOf('oldest'), tooOld: programOf('tooOld') },
  })
  return () => rmSync(place, { recursive: true, force: true })
}

/** With what the folder's own manifest asks for, if it has one. */
export async function install(folder: string, packages: readonly string[]): Promise<void> {
  mkdirSync(folder, { recursive: true })
  if (!existsSync(join(folder, 'package.json'))) writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  const args = ['install', '--no-audit', '--no-fund', '--loglevel=error', ...packages]
  const [code] = await once(spawn('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] }), 'exit')
  if (code !== 0) throw new Error(`Cannot install ${packages.join(' ')}: npm ended with ${code}`)
}
