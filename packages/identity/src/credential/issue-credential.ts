// Issues a W3C verifiable credential of identity v0.2 with its Data Integrity proof.
import type { KeyObject } from 'node:crypto'
import { isoTime } from '@postern/message'
import { evidenceLifetimes } from '../format/members.ts'
import {
  credentialContext,
  credentialSuite,
  credentialTypes,
  formatIntegrityInput,
  writeProofValue,
} from './credential.ts'

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
  /** The lifetime, ms. The default is 5 minutes, and the maximum 10. */
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

/** Issues a v0.2 credential with its proof, for `metadata.mentionable.verifiable_credentials`. This function is pure. */
export function issuePlatformCredential(draft: CredentialDraft, { privateKey, fragment }: CredentialSigner): Members {
  const { id, issuer, subject, method, assurance, onBehalfOf, issuedAt, domain, challenge } = draft
  const { platform, profile, observedInvocation, source } = draft
  const unsecuredDocument = {
    '@context': [...credentialContext],
    ...(id && { id }),
    type: [...credentialTypes],
    issuer,
    validFrom: isoTime(issuedAt),
    validUntil: isoTime(issuedAt + (draft.lifetimeMs ?? evidenceLifetimes.defaultMs)),
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
  return secureCredential(unsecuredDocument, {
    privateKey,
    options: { verificationMethod, created: createdAt, domain, challenge },
  })
}

/** Adds a proof of the only supported suite. `options` contains the proof's members in addition to those of the suite. This function is pure. */
export function secureCredential(
  unsecured: Members,
  { privateKey, options }: { readonly privateKey: KeyObject; readonly options: Members },
): Members {
  const proofOptions = {
    ...('@context' in unsecured && { '@context': unsecured['@context'] }),
    ...credentialSuite,
    ...options,
  }
  const proofValue = writeProofValue(formatIntegrityInput({ unsecured, options: proofOptions }), privateKey)
  return { ...unsecured, proof: { ...proofOptions, proofValue } }
}
