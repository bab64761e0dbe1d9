import type { Dependency, Lock } from './licences.ts'
import { listDependencies } from './licences.ts'

interface BomFacts {
  readonly version: string
  /** Milliseconds since the epoch. */
  readonly now: number
}

/**
 * A bill of materials of the gateway (CycloneDX 1.5). `npm sbom` leaves out packages that a development dependency needs as well, such as
 * Hono, so the lock is read here.
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
