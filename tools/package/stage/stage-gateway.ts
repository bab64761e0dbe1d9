// Stages the npm package `postern`: bundle, types, documents, examples.
import { chmodSync, copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CodeSplittingGroup, OutputChunk } from 'rolldown'
import { writeBundle } from '../bundle.ts'
import { copyDocuments, writeLicences } from '../documents.ts'
import { findVersions, optionalLibraries, packageOf, readLibraries } from '../libraries.ts'
import { writeDeclarations } from '../types/declarations.ts'
import { readPublication } from './publication.ts'

export interface StageOptions {
  readonly root: string
  /** The folder of the package, which is emptied first. */
  readonly folder: string
}

/** Writes the whole contents of the package `postern`. */
export async function stageGateway({ root, folder }: StageOptions): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  const libraries = readLibraries(root)
  const { imported, contained } = await writeBundle({
    ...{ root, folder: join(folder, 'dist'), libraries, entries },
    group: chunks => groupByStart(chunks, root),
  })
  const importedTypes = writeDeclarations({ root, folder: join(folder, 'types'), entries: typeEntries })
  const usedPackages = [
    ...new Set([...imported, ...importedTypes.filter(name => !name.startsWith('node:')).map(packageOf)]),
  ]
  const manifest = describeGatewayPackage(root, findVersions(usedPackages, libraries))
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`)
  copyProgram(root, folder)
  copyDocuments(root, folder)
  writeLicences(folder, contained)
}

const entries = {
  main: 'apps/gateway/src/main.ts',
  index: 'apps/gateway/src/index.ts',
  testing: 'apps/gateway/src/testing/index.ts',
}

/** The sources whose types are public. */
const typeEntries = [entries.index, entries.testing]

function copyProgram(root: string, folder: string): void {
  mkdirSync(join(folder, 'bin'), { recursive: true })
  copyFileSync(join(root, 'apps/gateway/bin/installed.mjs'), join(folder, 'bin/postern.mjs'))
  copyFileSync(join(root, 'apps/gateway/bin/launch.mjs'), join(folder, 'bin/launch.mjs'))
  copySchemas(join(root, 'apps/gateway/schemas'), join(folder, 'schemas'))
  cpSync(join(root, 'packages/console/public'), join(folder, 'console'), { recursive: true })
  chmodSync(join(folder, 'bin/postern.mjs'), 0o755)
}

/** Copies the JSON Schemas without white space, which is half of their bytes. Editors and validators read them. */
function copySchemas(from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const name of readdirSync(from)) {
    const schema: unknown = JSON.parse(readFileSync(join(from, name), 'utf8'))
    writeFileSync(join(to, name), `${JSON.stringify(schema)}\n`)
  }
}

const types = './types/apps/gateway/src'

/** Returns the manifest of `postern`. `imported` holds the libraries that the package's code or types import, with their exact versions. */
function describeGatewayPackage(root: string, imported: ReturnType<typeof findVersions>): object {
  const isOptional = ([name]: readonly [string, string]) => Object.hasOwn(optionalLibraries, name)
  const peers = imported.filter(isOptional)
  return {
    name: 'postern',
    ...readPublication(root),
    keywords: ['agent', 'gateway', 'activitypub', 'fediverse', 'a2a', 'email', 'ag-ui'],
    type: 'module',
    bin: { postern: 'bin/postern.mjs' },
    exports: {
      '.': { types: `${types}/index.d.ts`, default: './dist/index.js' },
      './testing': { types: `${types}/testing/index.d.ts`, default: './dist/testing.js' },
      './schemas/*': './schemas/*',
      './package.json': './package.json',
    },
    sideEffects: false,
    dependencies: Object.fromEntries(imported.filter(library => !isOptional(library))),
    // A range lets npm install the newest version next to the package.
    peerDependencies: Object.fromEntries(peers.map(([name, version]) => [name, `^${version}`])),
    peerDependenciesMeta: Object.fromEntries(peers.map(([name]) => [name, { optional: true }])),
  }
}

/** Sources that load only some of the modules of a start, and must not load more. The same holds for the bundle's threads. */
const sources = {
  program: 'apps/gateway/src/main.ts',
  library: 'apps/gateway/src/index.ts',
  config: 'apps/gateway/src/config/read-config.ts',
  start: 'apps/gateway/src/running/run.ts',
}

/**
 * Joins the modules of a start into few files, because finding and linking a file costs more than running it. Without groups there would be
 * a hundred files, one for each set of commands that share modules. `chunks` come from a build without groups, and tell which modules are
 * used.
 */
function groupByStart(chunks: readonly OutputChunk[], root: string): CodeSplittingGroup[] {
  const loaders = new Map<string, string>()
  const addLoader = (loader: string, ids: readonly string[]) => {
    for (const id of ids) loaders.set(id, [...(loaders.get(id)?.split(' ') ?? []), loader].join(' '))
  }
  for (const [name, source] of Object.entries(sources)) addLoader(name, listModules(findChunk(source), chunks))
  const neededLoaders = new Set(loaders.keys())
  for (const chunk of chunks.filter(({ fileName }) => fileName.startsWith('thread-')))
    addLoader(
      chunk.name,
      listModules(chunk, chunks, ({ imports, dynamicImports }) => [...imports, ...dynamicImports]),
    )
  const loaderSets = new Set([...neededLoaders].map(id => loaders.get(id) ?? ''))
  return [...loaderSets].map((loaderSet, index) => ({
    name: loaderSet.includes(' ') ? `shared-${index}` : loaderSet,
    test: id => neededLoaders.has(id) && loaders.get(id) === loaderSet,
  }))

  function findChunk(source: string): OutputChunk {
    const chunk = chunks.find(({ moduleIds }) => moduleIds.includes(join(root, source)))
    if (!chunk) throw new Error(`Cannot bundle: no chunk holds ${source}`)
    return chunk
  }
}

/** Lists the modules of a chunk and of all its imports, by default only those that load before it runs. */
function listModules(
  first: OutputChunk,
  chunks: readonly OutputChunk[],
  listImports = ({ imports }: OutputChunk): readonly string[] => imports,
): readonly string[] {
  const reachedChunks = new Set([first])
  for (const chunk of reachedChunks) {
    const imports = listImports(chunk)
    for (const otherChunk of chunks) if (imports.includes(otherChunk.fileName)) reachedChunks.add(otherChunk)
  }
  return [...reachedChunks].flatMap(({ moduleIds }) => moduleIds)
}
