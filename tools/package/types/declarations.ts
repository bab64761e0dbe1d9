// Writes the TypeScript declarations of the published packages, limited to those that are reachable.
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempDisposableSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { isOwn } from '../libraries.ts'
import type { FindDeclaration } from './declared-names.ts'
import { createFindDeclaration, splitNames, toDeclaration, toSpecifier } from './declared-names.ts'

interface DeclarationOptions {
  readonly root: string
  /** The folder for the declarations, which keep the paths of their sources. */
  readonly folder: string
  /** The sources with public types, from the root. */
  readonly entries: readonly string[]
}

/** Matches `import type { A } from './x.ts'` and `export { A } from …`, with the keyword, the list and the specifier. */
const statement = /^(import|export)(\s+type)?\s*\{([^}]*)\}\s*from\s*(["'])([^"']+)\4/gm
/** Matches `import("./x.ts").Name`. */
const inlineImport = /\bimport\(\s*(["'])([^"']+)\1\s*\)\.(\w+)/g

/** Writes the declarations of the public entries and all that they need. @returns the names of the libraries that they import from */
export function writeDeclarations({ root, folder, entries }: DeclarationOptions): readonly string[] {
  using declarationFolder = mkdtempDisposableSync(join(tmpdir(), 'postern-types-'))
  const packages = readOwnEntries(root)
  const faults = compileDeclarations({ root, folder: declarationFolder.path, entries }, packages)
  const reach = createReach({
    folder: declarationFolder.path,
    packages,
    findDeclaration: createFindDeclaration(declarationFolder.path),
  })
  // Iterating a set includes items that are added meanwhile.
  const paths = new Set(entries.map(toDeclaration))
  for (const path of paths) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, reach.rewrite(path))
    for (const further of reach.files) paths.add(further)
  }
  // Sources without published declarations may infer types that cannot be written down.
  const publicFaults = faults.filter(({ file }) => paths.has(toDeclaration(file)))
  if (publicFaults.length > 0)
    throw new Error(`Cannot write declarations:\n${publicFaults.map(({ line }) => line).join('\n')}`)
  return [...reach.libraries].toSorted()
}

interface ReachDeps {
  /** The folder of all declarations. */
  readonly folder: string
  /** The entry sources of our packages, by specifier. */
  readonly packages: ReadonlyMap<string, string>
  readonly findDeclaration: FindDeclaration
}

interface Reach {
  /** The declarations that were requested so far. */
  readonly files: ReadonlySet<string>
  readonly libraries: ReadonlySet<string>
  /** Rewrites a declaration so that it imports our names from the files that declare them. */
  rewrite(path: string): string
}

function createReach({ folder: made, packages, findDeclaration: find }: ReachDeps): Reach {
  const files = new Set<string>()
  const libraries = new Set<string>()

  /** Resolves a specifier to a file, or returns undefined for a library. */
  function resolve(specifier: string, from: string): string | undefined {
    if (specifier.startsWith('.')) return toDeclaration(join(dirname(from), specifier))
    if (isOwn(specifier)) return toDeclaration(packages.get(specifier) ?? fail(specifier, from))
    libraries.add(specifier)
    return undefined
  }

  function locate(file: string, name: string, from: string): { readonly specifier: string; readonly name: string } {
    const declaredName = find(file, name)
    files.add(declaredName.file)
    return { specifier: toSpecifier(from, declaredName.file), name: declaredName.name }
  }

  function rewrite(path: string): string {
    const text = readFileSync(join(made, path), 'utf8')
    return text
      .replace(statement, (statementText, word: string, type = '', list: string, _quote: string, specifier: string) => {
        const file = resolve(specifier, path)
        if (file === undefined) return statementText
        const lines = splitNames(list).map(({ name, as }) => {
          const location = locate(file, name, path)
          return `${word}${type} { ${location.name === as ? as : `${location.name} as ${as}`} } from "${location.specifier}"`
        })
        return lines.join(';\n')
      })
      .replace(inlineImport, (importText, _quote: string, specifier: string, name: string) => {
        const file = resolve(specifier, path)
        if (file === undefined) return importText
        const location = locate(file, name, path)
        return `import("${location.specifier}").${location.name}`
      })
  }

  return { files, libraries, rewrite }
}

function fail(specifier: string, from: string): never {
  throw new Error(`Cannot write the declarations of ${from}: there is no entry ${specifier}`)
}

/**
 * Compiles the declarations of everything that the entries import, each at its source's path.
 * @returns TypeScript's messages, by source
 */
function compileDeclarations(
  { root, folder, entries }: DeclarationOptions,
  packages: ReachDeps['packages'],
): readonly { readonly file: string; readonly line: string }[] {
  // TypeScript looks for libraries from the folder of the project file, so this file must be in the tree.
  const project = join(root, `tsconfig.declarations-${process.pid}.json`)
  const config = {
    extends: './tsconfig.base.json',
    compilerOptions: {
      ...{ noEmit: false, declaration: true, emitDeclarationOnly: true, rootDir: '.', outDir: folder },
      // The paths lead to sources, because TypeScript writes no declarations for packages in node_modules.
      paths: Object.fromEntries([...packages].map(([name, source]) => [name, [`./${source}`]])),
    },
    files: [...entries, ...globSync('packages/*/src/**/*.d.ts', { cwd: root })],
  }
  writeFileSync(project, JSON.stringify(config))
  try {
    const { stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', project], { cwd: root, encoding: 'utf8' })
    const faults = [...stdout.matchAll(/^(\S[^(\n]*)\(\d+,\d+\): error .*$/gm)]
    return faults.map(([line, file = '']) => ({ file, line }))
  } finally {
    rmSync(project)
  }
}

interface PackageManifest {
  readonly name: string
  readonly exports?: Readonly<Record<string, string>>
}

/** Reads the entries of our packages by the specifier of the source: `@postern/message` is `packages/message/src/index.ts`. */
function readOwnEntries(root: string): ReadonlyMap<string, string> {
  const entries = globSync('packages/*/package.json', { cwd: root }).flatMap(path => {
    const { name, exports = {} } = JSON.parse(readFileSync(join(root, path), 'utf8')) as PackageManifest
    return Object.entries(exports).map(([entry, file]) => [join(name, entry), join(dirname(path), file)] as const)
  })
  return new Map(entries)
}
