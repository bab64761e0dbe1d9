// Loads the operator's modules as ECMAScript modules, and reloads them after they have changed.
import { AsyncLocalStorage } from 'node:async_hooks'
import { readFileSync } from 'node:fs'
import type { LoadFnOutput, LoadHookContext, LoadHookSync, ResolveHookSync } from 'node:module'
import { registerHooks } from 'node:module'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compileFunction } from 'node:vm'

/** The URLs of the operator's own files, in the order in which they were loaded. Libraries are not among them. */
const operatorModules = new Set<string>()
let isHooked = false
/** The number of the newest generation. Each reload of the modules begins a generation. */
let lastGeneration = 0
/** The generation of the modules that are loaded now. */
let generation = 0

interface OwnModules {
  readonly generation: number
  /** The modules that are already loaded, keyed by the URLs of their files. */
  readonly given: ReadonlyMap<string, unknown>
}

/** The modules that only the current asynchronous context uses. */
const ownModules = new AsyncLocalStorage<OwnModules>()

/**
 * Makes later imports load each module again, with everything that it imports. Running modules keep their own. This is for development only,
 * because the former modules stay in memory.
 */
export function renewOperatorModules(): void {
  lastGeneration += 1
  generation = lastGeneration
}

/** Reloads the modules that `work` imports. All other modules stay in their generation. */
export function withNewOperatorModules<T>(work: () => Promise<T>): Promise<T> {
  lastGeneration += 1
  return ownModules.run({ given: new Map(), ...ownModules.getStore(), generation: lastGeneration }, work)
}

/** Substitutes modules that are already loaded for the files that `work` imports. `given` is keyed by the URLs of the files. */
export function withGivenModules<T>(given: ReadonlyMap<string, unknown>, work: () => Promise<T>): Promise<T> {
  return ownModules.run({ generation, ...ownModules.getStore(), given }, work)
}

/** Returns true if the module of this file is given. */
export function isGivenModule(url: string): boolean {
  return ownModules.getStore()?.given.has(url) === true
}

/**
 * Imports one of the operator's files and its imports as ECMAScript modules whenever their source is one, because the `"type"` of the nearest
 * package.json often belongs to another program. CommonJS files stay CommonJS.
 */
export function importOperatorModule(url: string): Promise<unknown> {
  const own = ownModules.getStore()
  if (own?.given.has(url)) return Promise.resolve(own.given.get(url))
  if (!isHooked) registerHooks({ resolve, load })
  isHooked = true
  const number = own?.generation ?? generation
  const versioned = number === 0 ? url : `${url}?generation=${number}`
  operatorModules.add(versioned)
  return import(versioned)
}

/** Adds files that a thread has loaded to the operator's files. */
export function noteOperatorModules(urls: readonly string[]): void {
  for (const url of urls) operatorModules.add(url)
}

/** Lists the operator's files that were loaded so far, newest first. */
export function listOperatorModules(): readonly string[] {
  return [...operatorModules].reverse()
}

const resolve: ResolveHookSync = (specifier, context, nextResolve) => {
  const resolved = nextResolve(specifier, context)
  const isOwn = resolved.url.startsWith('file:') && !resolved.url.includes('/node_modules/')
  if (!isOwn || context.parentURL === undefined || !operatorModules.has(context.parentURL)) return resolved
  // A module belongs to the generation of the module that imports it.
  const { search } = new URL(context.parentURL)
  const url = new URL(resolved.url).search === '' ? `${resolved.url}${search}` : resolved.url
  operatorModules.add(url)
  return { ...resolved, url }
}

const load: LoadHookSync = (url, context, nextLoad) =>
  operatorModules.has(url) ? (readAsModule(url, context) ?? nextLoad(url, context)) : nextLoad(url, context)

/**
 * Reads a file as a module. Returns undefined if the runtime's own rule gives the same result, or if the file cannot be read, because then the
 * runtime's own error is more precise.
 */
function readAsModule(url: string, { format }: LoadHookContext): LoadFnOutput | undefined {
  if (format && !format.startsWith('commonjs')) return
  const form = forms[extname(new URL(url).pathname)]
  const source = form && readSource(url)
  if (source === undefined || !form?.isModule(source)) return
  return { format: form.format, source, shortCircuit: true }
}

const forms: Readonly<Record<string, { readonly format: string; isModule(source: string): boolean }>> = {
  '.js': { format: 'module', isModule: source => !isCommonJs(source) },
  // The compiler cannot parse type annotations, so the statements of the source decide.
  '.ts': { format: 'module-typescript', isModule: source => /^\s*(?:import|export)\b/m.test(source) },
}

function readSource(url: string): string | undefined {
  try {
    return readFileSync(fileURLToPath(url), 'utf8')
  } catch {
    return undefined
  }
}

/** The names that Node's CommonJS wrapper passes to a file. */
const commonJsNames = ['exports', 'require', 'module', '__filename', '__dirname']

function isCommonJs(source: string): boolean {
  try {
    compileFunction(source, commonJsNames)
    return true
  } catch {
    return false
  }
}
