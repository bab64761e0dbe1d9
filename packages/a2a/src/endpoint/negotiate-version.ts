// Negotiates the protocol version (A2A §3.6).
import { A2aRejection } from '../format/errors.ts'
import type { ProtocolVersion } from '../format/wire.ts'

/** The version of a caller that names none (A2A §3.6.2). */
const defaultVersion = '0.3'

const versionPattern = /^(\d{1,3}\.\d{1,3})(\.\d{1,6})?$/

/** The version that the caller names, and the versions that the endpoint offers. */
interface VersionRequest {
  readonly header: string | null
  readonly query: string | null | undefined
  readonly offeredVersions: readonly ProtocolVersion[]
}

/**
 * Returns the version in the header or query, without its patch number. An unknown version is refused, and never replaced by another (A2A §3.6).
 * @throws A2aRejection `versionNotSupported`
 */
export function negotiateVersion({ header, query, offeredVersions }: VersionRequest): ProtocolVersion {
  // Every endpoint offers 1.0 (`a2a.versions`), so most calls need no comparison.
  if (header === '1.0' && !query) return header
  const parsedVersions = [header, query].filter(Boolean).map(text => versionPattern.exec((text as string).trim())?.[1])
  const requestedVersion = parsedVersions.length > 0 ? parsedVersions[0] : defaultVersion
  const version = offeredVersions.find(offeredVersion => offeredVersion === requestedVersion)
  if (version !== undefined && parsedVersions.every(parsedVersion => parsedVersion === version)) return version
  const problem = `${describeVersionProblem(parsedVersions)}; this agent speaks ${offeredVersions.join(', ')}`
  throw new A2aRejection('versionNotSupported', `Cannot take request: ${problem}`)
}

function describeVersionProblem(versions: readonly (string | undefined)[]): string {
  if (versions.length === 0) return 'A2A-Version is absent, which means 0.3'
  return versions.length > 1 && versions[0] !== versions[1] ? 'two A2A versions named' : 'A2A-Version is not supported'
}
