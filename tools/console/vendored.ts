import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageOf } from '../package/libraries.ts'

interface VendoredLibrary {
  /** File that the browser loads, in `vendor`. */
  readonly file: string
  /** The library's own ES module. */
  readonly source: string
  /** What of it the console uses, for the type checker. */
  readonly names: string
  /** How the console imports it. */
  readonly from: string
}

const libraries: readonly VendoredLibrary[] = [
  {
    file: 'preact.js',
    source: 'preact/dist/preact.mjs',
    names: '{ Component, Fragment, createContext, h, render }',
    from: 'preact',
  },
  {
    file: 'hooks.js',
    source: 'preact/hooks/dist/hooks.mjs',
    names: '{ useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState }',
    from: 'preact/hooks',
  },
  {
    file: 'signals-core.js',
    source: '@preact/signals-core/dist/signals-core.mjs',
    names: '{ batch, computed, effect, signal }',
    from: '@preact/signals-core',
  },
  {
    file: 'signals.js',
    source: '@preact/signals/dist/signals.mjs',
    names: '{ batch, computed, effect, signal, useComputed, useSignal }',
    from: '@preact/signals',
  },
  { file: 'htm.js', source: 'htm/dist/htm.mjs', names: '{ default }', from: 'htm' },
]

/**
 * Files of the console that others wrote, by their names. Bare specifiers become paths beside each other, so that the page needs no import
 * map: an inline map would need a hash in the content security policy.
 * @throws Error when a library imports something that is not vendored
 */
export function describeVendored(root: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  for (const { file, source, names, from } of libraries) {
    files.set(file, pointBeside(readLibrary(root, source)))
    files.set(file.replace(/\.js$/, '.d.ts'), `export ${names} from '${from}'\n`)
  }
  files.set('licences.txt', describeLicences(root))
  return files
}

/** Source maps lie beside the library, not beside the copy. */
function pointBeside(code: string): string {
  const bare = code.replace(/\n?\/\/# sourceMappingURL=\S+\s*$/, '\n')
  return bare.replace(
    /\b(from|import)\s*(["'])([^"'.][^"']*)\2/g,
    (_, word: string, quote: string, specifier: string) => {
      const found = libraries.find(({ from }) => from === specifier)
      if (!found) throw new Error(`Cannot vendor: ${specifier} is imported, and is not in tools/console/vendored.ts`)
      return `${word}${quote}./${found.file}${quote}`
    },
  )
}

function describeLicences(root: string): string {
  const names = [...new Set(libraries.map(({ from }) => packageOf(from)))]
  return names
    .map(name => {
      const { version, license } = JSON.parse(readLibrary(root, `${name}/package.json`)) as Record<string, string>
      return `${name} ${version}, ${license}\n\n${readLibrary(root, `${name}/LICENSE`).trim()}\n`
    })
    .join(`\n${'-'.repeat(72)}\n\n`)
}

function readLibrary(root: string, path: string): string {
  return readFileSync(join(root, 'node_modules', path), 'utf8')
}
