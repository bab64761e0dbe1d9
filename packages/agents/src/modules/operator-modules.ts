// Loads the operator's modules as ECMAScript modules, and reloads them after they have changed.
import { AsyncLocalStorage } from 'node:async_hooks'
import { readFileSync } from 'node:fs'
import type { LoadFnOutput, LoadHookContext, LoadHookSync, ResolveHookSync } from 'node:module'
import { registerHooks } from 'node:module'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compileFunction } from 'node:vm'
import { enterCommonJsGeneration } from './commonjs-generations.ts'

/** The URLs of the operator's own files, in the order in which they were loaded. Libraries are not among them. */
const operatorModules = new Set<string>()
let areHooksRegistered = false
/** The number of the newest generation. Each reload of the modules begins a generation. */
let lastGeneration = 0
/** The generation of the modules that are loaded now. */
let generation = 0

interface ModuleScope {
  readonly generation: number
  /** The modules that are already loaded, keyed by the URLs of their files. */
  readonly preloaded: ReadonlyMap<string, unknown>
}

/** The modules that only the current asynchronous context uses. */
const moduleScope = new AsyncLocalStorage<ModuleScope>()

/**
 * Makes later imports load each module again, with everything that it imports. Running modules keep their own. This is for development only,
 * because the former modules stay in memory.
 */
export function reloadAllModules(): void {
  lastGeneration += 1
  generation = lastGeneration
}

/** Reloads the modules that `work` imports. All other modules stay in their generation. */
export function withReloadedModules<T>(work: () => Promise<T>): Promise<T> {
  lastGeneration += 1
  return moduleScope.run({ preloaded: new Map(), ...moduleScope.getStore(), generation: lastGeneration }, work)
}

/** Substitutes modules that are already loaded for the files that `work` imports. The keys of `preloaded` are the URLs of the files. */
export function withPreloadedModules<T>(preloaded: ReadonlyMap<string, unknown>, work: () => Promise<T>): Promise<T> {
  return moduleScope.run({ generation, ...moduleScope.getStore(), preloaded }, work)
}

/** Returns true if the module of this file is loaded already. */
export function isPreloaded(url: string): boolean {
  return moduleScope.getStore()?.preloaded.has(url) === true
}

/**
 * Imports one of the operator's files and its imports as ECMAScript modules whenever their source is one, because the `"type"` of the nearest
 * package.json often belongs to another program. CommonJS files stay CommonJS.
 */
export function importOperatorModule(url: string): Promise<unknown> {
  const scope = moduleScope.getStore()
  if (scope?.preloaded.has(url)) return Promise.resolve(scope.preloaded.get(url))
  if (!areHooksRegistered) registerHooks({ resolve, load })
  areHooksRegistered = true
  const currentGeneration = scope?.generation ?? generation
  const versionedUrl = toVersionedUrl(url, currentGeneration)
  const pendingNamespace = importedModules.get(versionedUrl)
  if (pendingNamespace) return pendingNamespace
  operatorModules.add(versionedUrl)
  return importInGeneration(versionedUrl, currentGeneration)
}

function toVersionedUrl(url: string, generation: number): string {
  return generation === 0 ? url : `${url}?generation=${generation}`
}

/** The modules that have been imported, by their versioned URLs. An import of the runtime costs much more than a look here. */
const importedModules = new Map<string, Promise<unknown>>()

/** Returns true if a file was imported before, in the current generation. */
export function isImported(url: string): boolean {
  const scope = moduleScope.getStore()
  return scope?.preloaded.has(url) === true || importedModules.has(toVersionedUrl(url, scope?.generation ?? generation))
}

/** The imports of one generation, which begin together and end before those of another one begin. */
let imports = { generation: 0, begin: Promise.resolve<unknown>(undefined), end: Promise.resolve<unknown>(undefined) }

/** Imports a file beside others of its generation. Only one generation at a time has its CommonJS files in the runtime's cache. */
function importInGeneration(url: string, generation: number): Promise<unknown> {
  const begin = imports.generation === generation ? imports.begin : imports.end
  const importPromise = begin.then(() => import(url))
  const rememberModule = () => void importedModules.set(url, importPromise)
  importPromise.then(rememberModule, () => undefined)
  imports = { generation, begin, end: Promise.allSettled([imports.end, importPromise]) }
  return importPromise
}

/** Adds files that a thread has loaded to the operator's files. */
export function addOperatorModules(urls: readonly string[]): void {
  for (const url of urls) operatorModules.add(url)
}

/** Lists the operator's files that were loaded so far, newest first. */
export function listOperatorModules(): readonly string[] {
  return [...operatorModules].reverse()
}

const resolve: ResolveHookSync = (specifier, context, nextResolve) => {
  const resolvedModule = nextResolve(specifier, context)
  const isOwn = resolvedModule.url.startsWith('file:') && !resolvedModule.url.includes('/node_modules/')
  if (!isOwn || context.parentURL === undefined || !operatorModules.has(context.parentURL)) return resolvedModule
  // A module belongs to the generation of the module that imports it.
  const { search } = new URL(context.parentURL)
  const url = new URL(resolvedModule.url).search === '' ? `${resolvedModule.url}${search}` : resolvedModule.url
  operatorModules.add(url)
  return { ...resolvedModule, url }
}

const load: LoadHookSync = (url, context, nextLoad) =>
  operatorModules.has(url) ? (loadAsEsModule(url, context) ?? nextLoad(url, context)) : nextLoad(url, context)

/**
 * Reads a file as a module. Returns undefined if the runtime's own rule gives the same result, or if the file cannot be read, because then the
 * runtime's own error is more precise.
 */
function loadAsEsModule(url: string, { format }: LoadHookContext): LoadFnOutput | undefined {
  if (format && !format.startsWith('commonjs')) return
  const moduleFormat = moduleFormats[extname(new URL(url).pathname)]
  const source = moduleFormat && readSource(url)
  if (source === undefined || !moduleFormat?.isModule(source)) return enterGeneration(url)
  return { format: moduleFormat.format, source, shortCircuit: true }
}

function enterGeneration(url: string): undefined {
  const ownPaths = new Set([...operatorModules].map(url => fileURLToPath(url)))
  enterCommonJsGeneration(Number(new URL(url).searchParams.get('generation')), ownPaths)
}

const moduleFormats: Readonly<Record<string, { readonly format: string; isModule(source: string): boolean }>> = {
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
