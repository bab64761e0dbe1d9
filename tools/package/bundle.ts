// Bundles our packages with their libraries for the oldest supported Node.
import { existsSync, writeFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'
import type { CodeSplittingGroup, OutputChunk, OutputOptions, Plugin, RolldownBuild, RolldownOutput } from 'rolldown'
import { rolldown } from 'rolldown'
import { minifySync } from 'rolldown/utils'
import { isExternal, packageOf } from './libraries.ts'

interface BundleOptions {
  readonly root: string
  /** The folder for the bundle's files. */
  readonly folder: string
  /** The exact versions of the libraries that may stay outside of the bundle, by name. */
  readonly libraries: ReadonlyMap<string, string>
  /** The sources of the public entries and of the program, by the names of their files. */
  readonly entries: Readonly<Record<string, string>>
  /** Decides the groups of chunks from a bundle without groups. Absent for no groups. */
  readonly group?: (chunks: readonly OutputChunk[]) => CodeSplittingGroup[]
}

interface Bundle {
  /** The names of the libraries that the files import. */
  readonly imported: readonly string[]
  /** The paths of the libraries' files in the bundle. */
  readonly contained: readonly string[]
}

const builtins = new Set(builtinModules)

/** Bundles our own packages for the oldest Node that can run them. */
export async function writeBundle(options: BundleOptions): Promise<Bundle> {
  const parts = options.group && (await bundle(options, build => build.generate(outputOptions)))
  const groups = parts && options.group?.(parts)
  const codeSplitting = groups ? { groups, includeDependenciesRecursively: false } : true
  const chunks = await bundle(options, build => build.write({ ...outputOptions, dir: options.folder, codeSplitting }))
  for (const chunk of chunks) escapeText(join(options.folder, chunk.fileName), chunk)
  return { imported: listImported(chunks), contained: listContained(chunks) }
}

async function bundle(
  { root, libraries, entries }: BundleOptions,
  output: (build: RolldownBuild) => Promise<RolldownOutput>,
): Promise<readonly OutputChunk[]> {
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(Object.entries(entries).map(([name, path]) => [name, join(root, path)])),
    platform: 'node',
    external: specifier => builtins.has(specifier) || isExternal(specifier, libraries),
    transform: { target: 'node24.11' },
    // Our modules have no side effects when loaded, so unused code is left out. Programs of threads exist only for their side effects.
    treeshake: { moduleSideEffects: id => id.includes('/node_modules/') || isThread(id) },
    // Groups of modules need this option. Our entries get no other exports by it, because they are in groups or used by nothing else.
    preserveEntrySignatures: 'allow-extension',
    plugins: [bundleWorkerFiles()],
    onLog: (level, log, handle) => handle(level === 'warn' ? 'error' : level, log),
  })
  await using resources = new AsyncDisposableStack()
  resources.defer(() => build.close())
  const { output: files } = await output(build)
  return files.filter(file => file.type === 'chunk')
}

const outputOptions = {
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: '[name]-[hash].js',
  // Functions keep their names for stack traces.
  minify: { compress: false, mangle: { toplevel: false, keepNames: true }, codegen: { removeWhitespace: true } },
  comments: { legal: true, annotation: false, jsdoc: false },
} as const satisfies OutputOptions

/** The largest share of non-ASCII characters. A file with a larger share is a table of them, which escapes would double. */
const maxShare = 0.01

/** Escapes the few characters beyond Latin-1, because a single one makes V8 store the whole file with two bytes per character. */
function escapeText(path: string, { code }: OutputChunk): void {
  const foreign = code.match(/[^\0-\x7f]/g)?.length ?? 0
  if (foreign === 0 || foreign > code.length * maxShare) return
  const codegen = { removeWhitespace: true, asciiOnly: true }
  const escapedCode = minifySync(path, code, { module: true, compress: false, mangle: false, codegen })
  if (escapedCode.errors.length > 0) throw new Error(`Cannot escape ${path}: ${escapedCode.errors[0]?.message}`)
  writeFileSync(path, escapedCode.code)
}

function listImported(chunks: readonly OutputChunk[]): readonly string[] {
  const chunkNames = new Set(chunks.map(({ fileName }) => fileName))
  const foreign = chunks
    .flatMap(({ imports, dynamicImports, code }) => [...imports, ...dynamicImports, ...listRequired(code)])
    .filter(name => !chunkNames.has(name) && !name.startsWith('node:') && !builtins.has(name))
  return [...new Set(foreign.map(packageOf))].toSorted()
}

/** Lists the CommonJS libraries that code also loads with a `require` that it creates itself. */
function listRequired(code: string): readonly string[] {
  return [...code.matchAll(/\b_*require[\w$]*\((["'`])([^."'`][^"'`]*)\1\)/g)].map(([, , name = '']) => name)
}

function listContained(chunks: readonly OutputChunk[]): readonly string[] {
  return chunks.flatMap(({ moduleIds }) => moduleIds.filter(id => id.includes('/node_modules/')))
}

/** Matches the expression that names the file of a thread: `new URL('./worker.ts', import.meta.url)`. */
const fileReference = /new URL\(\s*'(\.{1,2}\/[^']+\.(?:ts|mjs))'\s*,\s*import\.meta\.url\s*\)/g

/**
 * Bundles the program of each thread as a separate file, and makes the source name that file. All files of the bundle are in one folder, so
 * a relative name is correct wherever the code ends up.
 */
function bundleWorkerFiles(): Plugin {
  const names = new Map<string, string>()
  return {
    name: 'worker-files',
    transform(code, id) {
      if (!fileReference.test(code)) return null
      const resolvedCode = code.replace(fileReference, (reference, path: string) => {
        const file = resolve(dirname(id), path)
        if (!existsSync(file)) throw new Error(`Cannot bundle ${id}: it names ${file}, which does not exist`)
        const name = names.get(file) ?? nameFile(file, names.size)
        if (!names.has(file)) this.emitFile({ type: 'chunk', id: file, fileName: name })
        names.set(file, name)
        return reference.replace(path, `./${name}`)
      })
      return { code: resolvedCode }
    },
  }
}

function nameFile(file: string, index: number): string {
  return `thread-${index}-${basename(file).replace(/\.\w+$/, '')}.js`
}

/** Returns true if a file is the program of a thread, or if such a program imports it. */
function isThread(id: string): boolean {
  return /(?:worker|thread)\.(?:ts|mjs)$/.test(id)
}
