import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { install } from './install-packages.ts'

const source = join(import.meta.dirname, '../../../examples')

/** Those that have packages of their own. */
const exampleProjects = ['vercel-ai', 'openai-agents', 'langgraph', 'copilotkit'] as const

/** What shows a page takes minutes to install; the page's client alone is what speaks to a gateway. */
const pageLibraries = /^(react|react-dom|vite|@types\/.*|@copilotkit\/react-core)$/
const pageClient = { '@copilotkit/core': '1.74.0' }

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
}

/** Copies the examples as a user would, and installs what they name, with the packed package. All share one installation. @returns how long it took, ms */
export async function installExamples(folder: string, tarball: string): Promise<number> {
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
