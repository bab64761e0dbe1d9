import { AsyncLocalStorage } from 'node:async_hooks'
import { readFileSync } from 'node:fs'
import type { LoadFnOutput, LoadHookContext, LoadHookSync, ResolveHookSync } from 'node:module'
import { registerHooks } from 'node:module'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compileFunction } from 'node:vm'

/** URLs of the operator's own files, in the order in which they were loaded. Libraries are not among them. */
const operatorModules = new Set<string>()
let isHooked = false
/** Each time that modules are loaded anew has a number. */
let lastGeneration = 0
/** What is loaded now is of this one. */
let generation = 0
/** What is loaded anew for one purpose alone. */
const ownGeneration = new AsyncLocalStorage<number>()

/**
 * From now on each module is loaded anew, with all that it imports. Modules that run keep what they have. For development: the former ones
 * stay in memory.
 */
export function renewOperatorModules(): void {
  lastGeneration += 1
  generation = lastGeneration
}

/** Loads anew what `work` imports; whatever else is loaded stays of its generation. */
export function withNewOperatorModules<T>(work: () => Promise<T>): Promise<T> {
  lastGeneration += 1
  return ownGeneration.run(lastGeneration, work)
}

/**
 * Imports one of the operator's files, and what it imports, as ECMAScript modules wherever their source is one: the `"type"` of the
 * nearest package.json belongs to another program as often as not. CommonJS files stay CommonJS.
 */
export function importOperatorModule(url: string): Promise<unknown> {
  if (!isHooked) registerHooks({ resolve, load })
  isHooked = true
  const number = ownGeneration.getStore() ?? generation
  const versioned = number === 0 ? url : `${url}?generation=${number}`
  operatorModules.add(versioned)
  return import(versioned)
}

/** The operator's files that were asked for so far, newest first. */
export function listOperatorModules(): readonly string[] {
  return [...operatorModules].reverse()
}

const resolve: ResolveHookSync = (specifier, context, nextResolve) => {
  const resolved = nextResolve(specifier, context)
  const isOwn = resolved.url.startsWith('file:') && !resolved.url.includes('/node_modules/')
  if (!isOwn || context.parentURL === undefined || !operatorModules.has(context.parentURL)) return resolved
  // A module is of the generation of the one that imports it.
  const { search } = new URL(context.parentURL)
  const url = new URL(resolved.url).search === '' ? `${resolved.url}${search}` : resolved.url
  operatorModules.add(url)
  return { ...resolved, url }
}

const load: LoadHookSync = (url, context, nextLoad) =>
  operatorModules.has(url) ? (readAsModule(url, context) ?? nextLoad(url, context)) : nextLoad(url, context)

/** Undefined where the runtime's own rule says the same, or where the file cannot be read: its error is the better one. */
function readAsModule(url: string, { format }: LoadHookContext): LoadFnOutput | undefined {
  if (format && !format.startsWith('commonjs')) return
  const form = forms[extname(new URL(url).pathname)]
  const source = form && readSource(url)
  if (source === undefined || !form?.isModule(source)) return
  return { format: form.format, source, shortCircuit: true }
}

const forms: Readonly<Record<string, { readonly format: string; isModule(source: string): boolean }>> = {
  '.js': { format: 'module', isModule: source => !isCommonJs(source) },
  // Types hide the rest of the source from the compiler, so here its statements decide.
  '.ts': { format: 'module-typescript', isModule: source => /^\s*(?:import|export)\b/m.test(source) },
}

function readSource(url: string): string | undefined {
  try {
    return readFileSync(fileURLToPath(url), 'utf8')
  } catch {
    return undefined
  }
}

/** The names that Node's CommonJS wrapper hands to a file. */
const commonJsNames = ['exports', 'require', 'module', '__filename', '__dirname']

function isCommonJs(source: string): boolean {
  try {
    compileFunction(source, commonJsNames)
    return true
  } catch {
    return false
  }
}
