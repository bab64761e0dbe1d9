// Issues a W3C verifiable credential of identity v0.2 with its Data Integrity proof.
import type { KeyObject } from 'node:crypto'
import { isoTime } from '@postern/message'
import { lifetime } from '../format/members.ts'
import { credentialContext, credentialSuite, credentialTypes, integrityInput, writeProofValue } from './credential.ts'

type Members = Readonly<Record<string, unknown>>

export interface CredentialDraft {
  /** The `did:web:…` of the connector. */
  readonly issuer: string
  readonly subject: string
  readonly method: string
  readonly assurance: string
  /** The addressed agent, `@agent@domain`. */
  readonly domain: string
  /** The A2A `messageId` of the message. */
  readonly challenge: string
  /** The time of issue, ms. */
  readonly issuedAt: number
  /** The lifetime, ms; default 5 minutes, at most 10. */
  readonly lifetimeMs?: number | undefined
  readonly id?: string | undefined
  readonly onBehalfOf?: readonly string[] | undefined
  readonly platform?: Members | undefined
  readonly profile?: Members | undefined
  readonly observedInvocation?: Members | undefined
  readonly source?: Members | undefined
}

interface CredentialSigner {
  /** A private key for Ed25519. */
  readonly privateKey: KeyObject
  /** The part after `#` in the id of its verification method. */
  readonly fragment: string
}

/** Issues a v0.2 credential with its proof, for `metadata.mentionable.verifiable_credentials`. Pure. */
export function issuePlatformCredential(draft: CredentialDraft, { privateKey, fragment }: CredentialSigner): Members {
  const { id, issuer, subject, method, assurance, onBehalfOf, issuedAt, domain, challenge } = draft
  const { platform, profile, observedInvocation, source } = draft
  const unsecured = {
    '@context': [...credentialContext],
    ...(id && { id }),
    type: [...credentialTypes],
    issuer,
    validFrom: isoTime(issuedAt),
    validUntil: isoTime(issuedAt + (draft.lifetimeMs ?? lifetime.defaultMs)),
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
  const createdAt = isoTime(issuedAt)
  return secureCredential(unsecured, {
    privateKey,
    options: { verificationMethod, created: createdAt, domain, challenge },
  })
}

/** Adds a proof of the only supported suite. `options` holds its members in addition to those of the suite. Pure. */
export function secureCredential(
  unsecured: Members,
  { privateKey, options }: { readonly privateKey: KeyObject; readonly options: Members },
): Members {
  const proofOptions = {
    ...('@context' in unsecured && { '@context': unsecured['@context'] }),
    ...credentialSuite,
    ...options,
  }
  const proofValue = writeProofValue(integrityInput({ unsecured, options: proofOptions }), privateKey)
  return { ...unsecured, proof: { ...proofOptions, proofValue } }
}
