import { A2aRejection } from './errors.ts'

/** The versions we speak, newest first. */
export const protocolVersions = ['1.0', '0.3'] as const

export type ProtocolVersion = (typeof protocolVersions)[number]

/** The version of a caller that names none (A2A §3.6.2). */
const unnamedVersion = '0.3'

const majorMinor = /^(\d{1,3}\.\d{1,3})(\.\d{1,6})?$/

/** What the caller names, and what the endpoint offers. */
interface VersionOffer {
  readonly header: string | null
  readonly query: string | null | undefined
  readonly offered: readonly ProtocolVersion[]
}

/**
 * The version in the header or query, without its patch number. It never falls back silently (A2A §3.6). @throws A2aRejection
 * `versionNotSupported`
 */
export function negotiateVersion({ header, query, offered }: VersionOffer): ProtocolVersion {
  if (header === '1.0' && !query) return header
  const named = [header, query].filter(Boolean).map(text => majorMinor.exec((text as string).trim())?.[1])
  const wanted = named.length > 0 ? named[0] : unnamedVersion
  const version = offered.find(each => each === wanted)
  if (version === undefined || named.some(other => other !== version)) throw refuseVersion(named, offered)
  return version
}

function refuseVersion(named: readonly (string | undefined)[], offered: VersionOffer['offered']): A2aRejection {
  return new A2aRejection('versionNotSupported', describeRefusal(named, `this agent speaks ${offered.join(', ')}`))
}

function describeRefusal(named: readonly (string | undefined)[], spoken: string): string {
  if (named.length === 0) return `Cannot take request: A2A-Version is absent, which means 0.3; ${spoken}`
  if (named.length > 1 && named[0] !== named[1]) return `Cannot take request: two A2A versions named; ${spoken}`
  return `Cannot take request: A2A-Version is not supported; ${spoken}`
}

/** The caller used a method of 1.0 but named no version, which means 0.3. */
export function refuseNewMethod(): A2aRejection {
  return new A2aRejection(
    'versionNotSupported',
    'Cannot take request: A2A-Version is absent or 0.3, which has no such method; name 1.0',
  )
}
