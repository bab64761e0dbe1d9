// Lists the licences of all dependencies, and writes the bill of materials.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatInlineCode, formatMarkdownTable } from '../reference/markdown.ts'

/** A package in package-lock.json (lockfileVersion 3). */
interface LockedPackage {
  readonly version?: string
  readonly license?: string
  /** The digest of the archive (Subresource Integrity). */
  readonly integrity?: string
  /** The path of a workspace. */
  readonly resolved?: string
  readonly link?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

export type Lock = Readonly<Record<string, LockedPackage>>

interface Dependency {
  readonly name: string
  readonly version: string
  /** The licence as an SPDX expression. */
  readonly licence: string
  readonly integrity?: string | undefined
}

/** Licences that allow any use of the gateway, at most with a notice. Any other licence needs a decision. */
const acceptedLicences: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'PSF-2.0',
  'Python-2.0',
  'Unlicense',
])

/**
 * Returns true if a licence is accepted. In an SPDX expression without nested parentheses, one alternative is enough, but all parts of it
 * count.
 */
export function isAccepted(licence: string): boolean {
  const alternatives = licence.replace(/^\((.*)\)$/, '$1').split(' OR ')
  return alternatives.some(alternative => alternative.split(' AND ').every(name => acceptedLicences.has(name)))
}

export function readLock(root: string): Lock {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { readonly packages: Lock }
  return packages
}

/** Lists the foreign packages that a workspace needs at run time, by name. @throws Error for a package that the lockfile lacks */
export function listDependencies(lock: Lock, workspace: string): readonly Dependency[] {
  const paths = new Set([workspace])
  // Iterating a set includes items that are added meanwhile.
  for (const path of paths) for (const next of listPaths(lock, path)) paths.add(next)
  const installedPaths = [...paths].filter(path => path.includes('node_modules/') && !lock[path]?.link)
  const dependenciesById = new Map(
    installedPaths
      .map(path => describe(lock, path))
      .map(dependency => [`${dependency.name}@${dependency.version}`, dependency]),
  )
  return [...dependenciesById].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, dependency]) => dependency)
}

function describe(lock: Lock, path: string): Dependency {
  const { version = '', license = 'unknown', integrity } = lock[path] ?? {}
  return { name: path.split('node_modules/').at(-1) ?? '', version, licence: license, integrity }
}

/** Lists the folders of the packages that the package at `path` needs. */
function listPaths(lock: Lock, path: string): readonly string[] {
  const { link, resolved, ...locked } = lock[path] ?? {}
  if (link && resolved) return [resolved]
  return listNeeds(locked).flatMap(([name, isOptional]) => {
    const nextPath = findPath(lock, path, name)
    if (nextPath === undefined && !isOptional) throw new Error(`package-lock.json lacks ${name}, which ${path} needs`)
    return nextPath ?? []
  })
}

function listNeeds({
  dependencies = {},
  optionalDependencies = {},
  peerDependencies = {},
  peerDependenciesMeta = {},
}: LockedPackage): readonly (readonly [name: string, isOptional: boolean])[] {
  return [
    ...Object.keys(dependencies).map(name => [name, name in optionalDependencies] as const),
    ...Object.keys(optionalDependencies).map(name => [name, true] as const),
    ...Object.keys(peerDependencies).map(name => [name, peerDependenciesMeta[name]?.optional === true] as const),
  ]
}

/** Finds a package like Node's resolution: in the importing package's own folder, or in one above it. */
function findPath(lock: Lock, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))) {
    const path = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`
    if (!folder.endsWith('node_modules') && lock[path]) return path
    if (folder === '') return undefined
  }
}

/** Writes docs/reference/licences.md. */
export function describeLicences(dependencies: readonly Dependency[]): string {
  const summary = [...Map.groupBy(dependencies, ({ licence }) => licence)]
    .sort(([, left], [, right]) => right.length - left.length)
    .map(([licence, { length }]) => `- ${licence} (${length})`)
  const sections = [
    '# Licences',
    '<!-- Written by `npm run reference -- --write` from package-lock.json; a test compares. Change the dependencies, not this file. -->',
    `The gateway is under the [MIT licence](../../LICENSE). It runs with these ${dependencies.length} packages of others, optional ones too.`,
    summary.join('\n'),
    formatMarkdownTable(
      ['package', 'version', 'licence'],
      dependencies.map(({ name, version, licence }) => [formatInlineCode(name), version, licence]),
    ),
  ]
  return `${sections.join('\n\n')}\n`
}

interface BomFacts {
  readonly version: string
  /** The time in ms since the epoch. */
  readonly now: number
}

/**
 * Creates a bill of materials of the gateway (CycloneDX 1.5) from the lockfile. `npm sbom` omits packages that a development dependency
 * needs, too, such as Hono.
 */
export function createBom(lock: Lock, { version, now }: BomFacts) {
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      timestamp: new Date(now).toISOString(),
      component: { type: 'application', name: 'postern', version, 'bom-ref': `pkg:npm/postern@${version}` },
    },
    components: listDependencies(lock, 'apps/gateway').map(toComponent),
  } as const
}

function toComponent({ name, version, licence, integrity = '' }: Dependency) {
  // The purl specification encodes the @ of a scope.
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  return {
    type: 'library',
    name,
    version,
    purl,
    'bom-ref': purl,
    licenses: [{ expression: licence }],
    hashes: integrity.split(' ').flatMap(readIntegrity),
  } as const
}

function readIntegrity(integrity: string) {
  const [, bits, digest = ''] = /^sha(\d+)-(.+)$/.exec(integrity) ?? []
  return bits === undefined ? [] : [{ alg: `SHA-${bits}`, content: Buffer.from(digest, 'base64').toString('hex') }]
}
