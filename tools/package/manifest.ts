import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { optionalLibraries } from './libraries.ts'

interface ManifestOptions {
  readonly root: string
  /** Names of the libraries that the package imports, in code or in types. */
  readonly imported: readonly string[]
  /** Exact versions by names. */
  readonly libraries: ReadonlyMap<string, string>
  readonly minimumNode: string
}

interface RootManifest {
  readonly version: string
  readonly description: string
  readonly license: string
  readonly repository?: unknown
  readonly homepage?: string
  readonly bugs?: unknown
}

const types = './types/apps/gateway/src'

/** The manifest that is published. Where the project's own names a repository, npm can attest that the package was built there. */
export function describePackage({ root, imported, libraries, minimumNode }: ManifestOptions): object {
  const { version, description, license, repository, homepage, bugs } = readRootManifest(root)
  const names = imported.toSorted()
  const isOptional = (name: string) => Object.hasOwn(optionalLibraries, name)
  const versionOf = (name: string) => libraries.get(name) ?? fail(name)
  return {
    name: 'postern',
    version,
    description,
    keywords: ['agent', 'gateway', 'activitypub', 'fediverse', 'a2a', 'email', 'ag-ui'],
    license,
    ...{ repository, homepage, bugs },
    type: 'module',
    engines: { node: `>=${minimumNode}` },
    bin: { postern: 'bin/postern.mjs' },
    exports: {
      '.': { types: `${types}/index.d.ts`, default: './dist/index.js' },
      './testing': { types: `${types}/testing/index.d.ts`, default: './dist/testing.js' },
      './schemas/*': './schemas/*',
      './package.json': './package.json',
    },
    sideEffects: false,
    dependencies: Object.fromEntries(names.filter(name => !isOptional(name)).map(name => [name, versionOf(name)])),
    // A range, so that npm can install the newest one beside the package.
    peerDependencies: Object.fromEntries(names.filter(isOptional).map(name => [name, `^${versionOf(name)}`])),
    peerDependenciesMeta: Object.fromEntries(names.filter(isOptional).map(name => [name, { optional: true }])),
    publishConfig: { access: 'public', provenance: true },
  }
}

function readRootManifest(root: string): RootManifest {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as RootManifest
}

function fail(name: string): never {
  throw new Error(`Cannot describe the package: it imports "${name}", which no manifest of ours depends on`)
}
