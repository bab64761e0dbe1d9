import { A2aRejection } from './errors.ts'

/** What the interfaces of the card offer, newest first. */
export const protocolVersions = ['1.0'] as const

export type ProtocolVersion = (typeof protocolVersions)[number]

/** What a caller speaks who does not say (A2A §3.6.2). */
const unnamedVersion = '0.3'

const offered: ReadonlySet<string> = new Set(protocolVersions)
const majorMinor = /^(\d{1,3}\.\d{1,3})(\.\d{1,6})?$/

/**
 * The version asked for by header or query, without its patch number. Never falls back silently (A2A §3.6).
 * @throws A2aRejection `versionNotSupported`
 */
export function negotiateVersion(header: string | null, query: string | null): ProtocolVersion {
  const named = [header, query].filter(Boolean).map(text => majorMinor.exec((text as string).trim())?.[1])
  const version = named.length > 0 ? named[0] : unnamedVersion
  if (version === undefined || !offered.has(version) || named.some(other => other !== version)) {
    throw new A2aRejection('versionNotSupported', describeRefusal(named))
  }
  return version as ProtocolVersion
}

function describeRefusal(named: readonly (string | undefined)[]): string {
  const spoken = `this agent speaks ${protocolVersions.join(', ')}`
  if (named.length === 0) return `Cannot take request: A2A-Version is absent, which means 0.3; ${spoken}`
  if (named.length > 1 && named[0] !== named[1]) return `Cannot take request: two A2A versions named; ${spoken}`
  return `Cannot take request: A2A-Version is not supported; ${spoken}`
}
