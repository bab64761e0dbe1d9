// Decides which libraries are bundled, installed next to the package, or optional.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Libraries whose code is part of the bundle.
 *
 * The mail libraries are bundled because the root manifest's `overrides` set their versions, so that one parser reads every address. npm ignores the
 * overrides of a dependency, so libraries installed next to the package would have other versions.
 *
 * The other libraries are bundled because every start loads them. They are 200 small files, and finding and reading a file costs more than running it. In the bundle
 * they take a third of the time, and their unused code is left out, such as zod's texts in 60 languages.
 */
const inlined: ReadonlySet<string> = new Set([
  ...['mailauth', 'mailparser', 'libmime'],
  ...[
    'zod',
    'hono',
    '@hono/node-server',
    '@scure/base',
    'aws4fetch',
    'canonicalize',
    'commander',
    'lossless-json',
    'pino',
  ],
  ...['@ag-ui/core', 'htmlparser2', 'entities', 'css-tree', 'css-what', 'color-name'],
  ...['fastest-levenshtein', 'string-width', 'get-east-asian-width', 'strip-ansi', 'ansi-regex'],
])

/**
 * Tables of charsets that `libmime` needs for rare mail. They would be a fifth of the bundle, so they are installed next to it in the
 * versions that `libmime` uses.
 */
const tables = ['encoding-japanese', 'iconv-lite']

/** Libraries that a user installs only for a certain feature, by name, with that feature. */
export const optionalLibraries: Readonly<Record<string, string>> = {
  pg: 'the store on PostgreSQL',
  '@grpc/grpc-js': 'the gRPC binding of A2A',
  '@bufbuild/protobuf': 'the gRPC binding of A2A',
  '@grpc/reflection': 'the gRPC binding of A2A',
  'grpc-health-check': 'the gRPC binding of A2A',
  '@modelcontextprotocol/sdk': 'tools of MCP servers, and `postern mcp`',
  '@opentelemetry/api': 'traces',
  '@opentelemetry/exporter-trace-otlp-http': 'traces',
  '@opentelemetry/resources': 'traces',
  '@opentelemetry/sdk-trace': 'traces',
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
}

/** Reads the exact versions of the libraries that our packages depend on, by name. */
export function readLibraries(root: string): ReadonlyMap<string, string> {
  const manifests = globSync('{apps/gateway,packages/*}/package.json', { cwd: root })
  const entries = manifests.flatMap(path => {
    const { dependencies = {} } = JSON.parse(readFileSync(join(root, path), 'utf8')) as Manifest
    return Object.entries(dependencies)
  })
  const installed = tables.map(name => [name, readVersion(join(root, 'node_modules'), name)] as const)
  return new Map([...entries.filter(([name]) => !isOwn(name)), ...installed])
}

/** Finds the versions of the libraries that a package imports. @throws Error for a library that none of our manifests depends on */
export function findVersions(
  names: readonly string[],
  libraries: ReadonlyMap<string, string>,
): readonly (readonly [name: string, version: string])[] {
  return names.toSorted().map(name => {
    const version = libraries.get(name)
    if (version !== undefined) return [name, version]
    throw new Error(`Cannot describe the package: it imports "${name}", which no manifest of ours depends on`)
  })
}

/** Reads the version of a library that `libmime` resolves to. */
function readVersion(modules: string, name: string): string {
  const ownFolder = join(modules, 'libmime/node_modules', name)
  const folder = existsSync(ownFolder) ? ownFolder : join(modules, name)
  return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { readonly version: string }).version
}

export function isOwn(specifier: string): boolean {
  return specifier.startsWith('@postern/')
}

/** Returns the package of a specifier, such as `@grpc/grpc-js` for `@grpc/grpc-js/build/x.js`. */
export function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

/** Returns true if the package imports this specifier at run time instead of containing its code. */
export function isExternal(specifier: string, libraries: ReadonlyMap<string, string>): boolean {
  if (specifier.startsWith('.') || specifier.startsWith('/') || isOwn(specifier)) return false
  const name = packageOf(specifier)
  return specifier.startsWith('node:') || (libraries.has(name) && !inlined.has(name))
}
