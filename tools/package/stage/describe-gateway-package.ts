import { optionalLibraries } from '../libraries.ts'
import { readPublication } from './publication.ts'

interface ManifestOptions {
  readonly root: string
  /** Names of the libraries that the package imports, in code or in types. */
  readonly imported: readonly string[]
  /** Exact versions by names. */
  readonly libraries: ReadonlyMap<string, string>
}

const types = './types/apps/gateway/src'

/** The manifest of `postern`. */
export function describeGatewayPackage({ root, imported, libraries }: ManifestOptions): object {
  const names = imported.toSorted()
  const isOptional = (name: string) => Object.hasOwn(optionalLibraries, name)
  const versionOf = (name: string) => libraries.get(name) ?? fail(name)
  return {
    name: 'postern',
    ...readPublication(root),
    keywords: ['agent', 'gateway', 'activitypub', 'fediverse', 'a2a', 'email', 'ag-ui'],
    type: 'module',
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
  }
}

function fail(name: string): never {
  throw new Error(`Cannot describe the package: it imports "${name}", which no manifest of ours depends on`)
}
