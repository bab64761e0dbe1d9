import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempDisposableSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { isOwn } from '../libraries.ts'
import type { FindDeclaration } from './declared-names.ts'
import { createFindDeclaration, splitNames, toDeclaration, toSpecifier } from './declared-names.ts'

interface DeclarationOptions {
  readonly root: string
  /** Folder that the declarations are written to; in it they have the paths of their sources. */
  readonly folder: string
  /** Sources whose types are public, from the root. */
  readonly entries: readonly string[]
}

/** `import type { A } from './x.ts'`, `export { A } from …`; the word, the list, the specifier. */
const statement = /^(import|export)(\s+type)?\s*\{([^}]*)\}\s*from\s*(["'])([^"']+)\4/gm
/** `import("./x.ts").Name` */
const inlineImport = /\bimport\(\s*(["'])([^"']+)\1\s*\)\.(\w+)/g

/** Writes the declarations of the public entries, and those they need. @returns names of the libraries that they import from */
export function writeDeclarations({ root, folder, entries }: DeclarationOptions): readonly string[] {
  using made = mkdtempDisposableSync(join(tmpdir(), 'postern-types-'))
  const packages = readOwnEntries(root)
  const faults = compileDeclarations({ root, folder: made.path, entries }, packages)
  const reach = createReach({ made: made.path, packages, find: createFindDeclaration(made.path) })
  // A set goes on to what is added while it is walked.
  const paths = new Set(entries.map(toDeclaration))
  for (const path of paths) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, reach.rewrite(path))
    for (const further of reach.files) paths.add(further)
  }
  // Sources whose declarations nobody gets may infer types that cannot be written down.
  const found = faults.filter(({ file }) => paths.has(toDeclaration(file)))
  if (found.length > 0) throw new Error(`Cannot write declarations:\n${found.map(({ line }) => line).join('\n')}`)
  return [...reach.libraries].toSorted()
}

interface ReachDeps {
  /** Folder of all declarations. */
  readonly made: string
  /** Sources of the entries of our packages, by specifier. */
  readonly packages: ReadonlyMap<string, string>
  readonly find: FindDeclaration
}

interface Reach {
  /** Declarations that were named so far. */
  readonly files: ReadonlySet<string>
  readonly libraries: ReadonlySet<string>
  /** One declaration, with the names of ours imported from where they are declared. */
  rewrite(path: string): string
}

function createReach({ made, packages, find }: ReachDeps): Reach {
  const files = new Set<string>()
  const libraries = new Set<string>()

  /** The file that a specifier means; undefined for a library's. */
  function resolve(specifier: string, from: string): string | undefined {
    if (specifier.startsWith('.')) return toDeclaration(join(dirname(from), specifier))
    if (isOwn(specifier)) return toDeclaration(packages.get(specifier) ?? fail(specifier, from))
    libraries.add(specifier)
    return undefined
  }

  function place(file: string, name: string, from: string): { readonly specifier: string; readonly name: string } {
    const declared = find(file, name)
    files.add(declared.file)
    return { specifier: toSpecifier(from, declared.file), name: declared.name }
  }

  function rewrite(path: string): string {
    const text = readFileSync(join(made, path), 'utf8')
    return text
      .replace(statement, (whole, word: string, type = '', list: string, _quote: string, specifier: string) => {
        const file = resolve(specifier, path)
        if (file === undefined) return whole
        const lines = splitNames(list).map(({ name, as }) => {
          const found = place(file, name, path)
          return `${word}${type} { ${found.name === as ? as : `${found.name} as ${as}`} } from "${found.specifier}"`
        })
        return lines.join(';\n')
      })
      .replace(inlineImport, (whole, _quote: string, specifier: string, name: string) => {
        const file = resolve(specifier, path)
        if (file === undefined) return whole
        const found = place(file, name, path)
        return `import("${found.specifier}").${found.name}`
      })
  }

  return { files, libraries, rewrite }
}

function fail(specifier: string, from: string): never {
  throw new Error(`Cannot write the declarations of ${from}: there is no entry ${specifier}`)
}

/**
 * Lets TypeScript write the declarations of all that the entries import, each at its source's path.
 * @returns what TypeScript says, by the source that it says it of
 */
function compileDeclarations(
  { root, folder, entries }: DeclarationOptions,
  packages: ReachDeps['packages'],
): readonly { readonly file: string; readonly line: string }[] {
  // TypeScript looks for libraries from the place of the project file, so it lies in the tree.
  const project = join(root, `tsconfig.declarations-${process.pid}.json`)
  const config = {
    extends: './tsconfig.base.json',
    compilerOptions: {
      ...{ noEmit: false, declaration: true, emitDeclarationOnly: true, rootDir: '.', outDir: folder },
      // What is found in node_modules counts as a library, of which nothing is written.
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

/** The entries of our packages by what the source imports: `@postern/core` is `packages/core/src/index.ts`. */
function readOwnEntries(root: string): ReadonlyMap<string, string> {
  const entries = globSync('packages/*/package.json', { cwd: root }).flatMap(path => {
    const { name, exports = {} } = JSON.parse(readFileSync(join(root, path), 'utf8')) as PackageManifest
    return Object.entries(exports).map(([entry, file]) => [join(name, entry), join(dirname(path), file)] as const)
  })
  return new Map(entries)
}
