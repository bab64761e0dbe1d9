// Stages the npm package of the Chat SDK adapter.
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeBundle } from '../bundle.ts'
import { writeLicences } from '../documents.ts'
import { findVersions, packageOf, readLibraries } from '../libraries.ts'
import { writeDeclarations } from '../types/declarations.ts'
import { readPublication } from './publication.ts'
import type { StageOptions } from './stage-gateway.ts'

const source = 'packages/chat-adapter'
const entries = { index: `${source}/src/index.ts` }

interface AdapterManifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly peerDependencies: Readonly<Record<string, string>>
}

/** Writes the contents of the Chat SDK adapter: its bundle with the parts of our packages that it uses, its types and its documents. */
export async function stageAdapter({ root, folder }: StageOptions): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  const manifest = JSON.parse(readFileSync(join(root, source, 'package.json'), 'utf8')) as AdapterManifest
  const { name, version, description, peerDependencies } = manifest
  const libraries = new Map([...readLibraries(root), ...Object.entries(peerDependencies)])
  const { imported, contained } = await writeBundle({ root, folder: join(folder, 'dist'), libraries, entries })
  const importedTypes = writeDeclarations({ root, folder: join(folder, 'types'), entries: [entries.index] })
  const usedPackages = new Set([
    ...imported,
    ...importedTypes.filter(specifier => !specifier.startsWith('node:')).map(packageOf),
  ])
  const dependencies = [...usedPackages].filter(packageName => !Object.hasOwn(peerDependencies, packageName))
  const published = {
    name,
    ...readPublication(root),
    version,
    description,
    keywords: ['chat-sdk', 'chat-adapter', 'postern', 'fediverse', 'a2a', 'email'],
    type: 'module',
    exports: {
      '.': { types: `./types/${source}/src/index.d.ts`, default: './dist/index.js' },
      './package.json': './package.json',
    },
    sideEffects: false,
    dependencies: Object.fromEntries(findVersions(dependencies, libraries)),
    peerDependencies,
  }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(published, undefined, 2)}\n`)
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  // The rest of the README is for readers of the sources.
  const [readme = ''] = readFileSync(join(root, source, 'README.md'), 'utf8').split('\n## Files in reading order')
  writeFileSync(join(folder, 'README.md'), readme)
  writeLicences(folder, contained)
}
