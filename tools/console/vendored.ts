// Describes the browser libraries that the console ships as separate files.
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { packageOf } from '../package/libraries.ts'

interface VendoredLibrary {
  /** The file that the browser loads, in `packages/console/public`. */
  readonly file: string
  /** The library's own ES module. */
  readonly source: string
  /** The names that the console imports from it, for the type checker. */
  readonly names: string
  /** The specifier by which the console imports it. */
  readonly from: string
  /** The folders of other packages in `node_modules` whose code is in the file, if the library has bundled any. */
  readonly bundled?: readonly string[]
}

const libraries: readonly VendoredLibrary[] = [
  {
    file: 'vendor/preact.js',
    source: 'preact/dist/preact.mjs',
    names: '{ Component, Fragment, createContext, h, render }',
    from: 'preact',
  },
  {
    file: 'vendor/hooks.js',
    source: 'preact/hooks/dist/hooks.mjs',
    names: '{ useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState }',
    from: 'preact/hooks',
  },
  {
    file: 'vendor/signals-core.js',
    source: '@preact/signals-core/dist/signals-core.mjs',
    names: '{ batch, computed, effect, signal }',
    from: '@preact/signals-core',
  },
  {
    file: 'vendor/signals.js',
    source: '@preact/signals/dist/signals.mjs',
    names: '{ batch, computed, effect, signal, useComputed, useSignal }',
    from: '@preact/signals',
  },
  { file: 'vendor/htm.js', source: 'htm/dist/htm.mjs', names: '{ default }', from: 'htm' },
  { file: 'vendor/uqr.js', source: 'uqr/dist/index.mjs', names: '{ encode }', from: 'uqr' },
  {
    file: 'postern-chat/vendor/markdown-it.js',
    source: 'markdown-it/dist/browser/markdown-it.esm.min.mjs',
    names: '{ default }',
    from: 'markdown-it',
    bundled: [
      ...['entities', 'linkify-it', 'uc.micro'].map(name => `markdown-it/node_modules/${name}`),
      ...['mdurl', 'punycode.js'],
    ],
  },
]

/**
 * Returns the contents of the console's vendored files, by name. Bare specifiers become relative paths, so that the page needs no import
 * map. An inline map would need a hash in the content security policy.
 * @throws Error if a library imports a module that is not vendored
 */
export function describeVendored(root: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  for (const { file, source, names, from } of libraries) {
    files.set(file, pointBeside(readLibrary(root, source)))
    files.set(file.replace(/\.js$/, '.d.ts'), `export ${names} from '${from}'\n`)
  }
  files.set('vendor/licences.txt', describeLicences(root))
  return files
}

/** Removes the reference to a source map, because the copy has none next to it. */
function pointBeside(code: string): string {
  const bareCode = code.replace(/\n?\/\/# sourceMappingURL=\S+\s*$/, '\n')
  return bareCode.replace(
    /\b(from|import)\s*(["'])([^"'.][^"']*)\2/g,
    (_, word: string, quote: string, specifier: string) => {
      const library = libraries.find(({ from }) => from === specifier)
      if (!library) throw new Error(`Cannot vendor: ${specifier} is imported, and is not in tools/console/vendored.ts`)
      return `${word}${quote}./${basename(library.file)}${quote}`
    },
  )
}

function describeLicences(root: string): string {
  const folders = libraries.flatMap(({ from, bundled = [] }) => [packageOf(from), ...bundled])
  return [...new Set(folders)]
    .map(folder => {
      const manifest = JSON.parse(readLibrary(root, `${folder}/package.json`)) as Record<string, string>
      const [licence = ''] = globSync('LICENSE*', { cwd: join(root, 'node_modules', folder) })
      const { name, version, license } = manifest
      return `${name} ${version}, ${license}\n\n${readLibrary(root, `${folder}/${licence}`).trim()}\n`
    })
    .join(`\n${'-'.repeat(72)}\n\n`)
}

function readLibrary(root: string, path: string): string {
  return readFileSync(join(root, 'node_modules', path), 'utf8')
}
