import type { KeyObject } from 'node:crypto'
import { isoTime } from '@postern/core'
import { lifetime } from '../format/members.ts'
import { credentialContext, credentialSuite, credentialTypes, integrityInput, writeProofValue } from './credential.ts'

type Members = Readonly<Record<string, unknown>>

export interface CredentialDraft {
  /** `did:web:…` of the connector. */
  readonly issuer: string
  readonly subject: string
  readonly method: string
  readonly assurance: string
  /** The addressed agent, `@agent@domain`. */
  readonly domain: string
  /** The A2A `messageId` of the message. */
  readonly challenge: string
  /** ms */
  readonly issuedAt: number
  /** ms; default 5 minutes, at most 10. */
  readonly lifetimeMs?: number | undefined
  readonly id?: string | undefined
  readonly onBehalfOf?: readonly string[] | undefined
  readonly platform?: Members | undefined
  readonly profile?: Members | undefined
  readonly observedInvocation?: Members | undefined
  readonly source?: Members | undefined
}

interface CredentialSigner {
  /** Ed25519. */
  readonly privateKey: KeyObject
  /** The part behind `#` of its verification method. */
  readonly fragment: string
}

/** A v0.2 credential with its proof, for `metadata.mentionable.verifiable_credentials`. Pure. */
export function issuePlatformCredential(draft: CredentialDraft, { privateKey, fragment }: CredentialSigner): Members {
  const { id, issuer, subject, method, assurance, onBehalfOf, issuedAt, domain, challenge } = draft
  const { platform, profile, observedInvocation, source } = draft
  const unsecured = {
    '@context': [...credentialContext],
    ...(id && { id }),
    type: [...credentialTypes],
    issuer,
    validFrom: isoTime(issuedAt),
    validUntil: isoTime(issuedAt + (draft.lifetimeMs ?? lifetime.usual)),
    credentialSubject: {
      id: subject,
      method,
      assurance,
      ...(onBehalfOf && { on_behalf_of: onBehalfOf }),
      ...(platform && { platform }),
      ...(profile && { profile }),
      ...(observedInvocation && { observedInvocation }),
      ...(source && { source }),
    },
  }
  const verificationMethod = `${issuer}#${fragment}`
  const created = isoTime(issuedAt)
  return secureCredential(unsecured, { privateKey, options: { verificationMethod, created, domain, challenge } })
}

/** Adds a proof of the one suite we know. `options`: its members beside those of the suite. Pure. */
export function secureCredential(
  unsecured: Members,
  { privateKey, options }: { readonly privateKey: KeyObject; readonly options: Members },
): Members {
  const shown = {
    ...('@context' in unsecured && { '@context': unsecured['@context'] }),
    ...credentialSuite,
    ...options,
  }
  const proofValue = writeProofValue(integrityInput({ unsecured, options: shown }), privateKey)
  return { ...unsecured, proof: { ...shown, proofValue } }
}
