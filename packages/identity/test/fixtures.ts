// Defines the keys, hosts and message that the cases of evidence have in common.
import { isoTime } from '@postern/message'
import type { EvidenceCode } from '@postern/pipeline'
import type { TrustedIssuer } from '../src/index.ts'
import { makeTestKey } from './keys.ts'

export type Members = Readonly<Record<string, unknown>>

/** One piece of arriving evidence, and its expected result. */
export interface EvidenceCase {
  readonly name: string
  readonly carrier: 'identity_evidence' | 'verifiable_credentials'
  /** The code of the fault; null if the evidence counts. */
  readonly code: EvidenceCode | null
  readonly evidence: unknown
  /** Key documents by address, if they differ from those in `documents`. Null means that there is none. */
  readonly documents?: Readonly<Record<string, unknown>>
}

/** The members that all cases have in common. */
export const audience = '@desk@agents.test'
export const messageId = '6f0c1f8e-3b52-4e0e-9a55-2f4a0c6f1d01'
export const now = Date.parse('2026-08-01T12:00:00.000Z')

export const host = 'slack.connector.test'
export const did = `did:web:${host}`
export const pathDid = `did:web:${host}:teams:T123`
export const otherHost = 'other.connector.test'
export const otherDid = `did:web:${otherHost}`
/** The host of a connector that publishes valid keys but is not trusted by the operator. */
export const strangerHost = 'stranger.connector.test'
export const strangerDid = `did:web:${strangerHost}`

export const chatMemberMethod = 'urn:mentionable:auth:slack-workspace-member:v0.1'
export const platformMention = 'urn:mentionable:auth:platform-mention:v0.1'

export const connectorKey = makeTestKey('connector')
export const otherKey = makeTestKey('other connector')
export const formerKey = makeTestKey('former key of the connector')

const grant = {
  methods: [chatMemberMethod, platformMention],
  assurance: ['platform', 'delegated'],
  subject_prefixes: ['slack:T123/'],
}

export const trustedIssuers: readonly TrustedIssuer[] = [host, did, pathDid, otherHost, otherDid].map(issuer => ({
  issuer,
  ...grant,
}))

/** Converts milliseconds from the arrival of the message into a time. */
export function timeAt(offset: number): string {
  return isoTime(now + offset)
}

export function omit(object: Members, ...names: readonly string[]): Members {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))
}
